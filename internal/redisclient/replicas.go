package redisclient

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/semel-go/semel/lock"
)

// maxHops is how many redirections a call follows.
const maxHops = 5

// errRedirected is a Cluster that sends us round in circles, or to a node that
// is not in its own table. Nothing was done.
var errRedirected = errors.New("redirected too often")

// TooFew is the error for a call that fewer replicas than Options.Replicas have
// acknowledged. It matches [lock.ErrUnavailable].
func (r *Redis) TooFew(acked int) error {
	return fmt.Errorf("%d of the %d replicas asked for acknowledged it within %d ms: %w",
		acked, r.replicas, r.replicaMS, lock.ErrUnavailable)
}

// RunReplicated is [Run] with a WAIT behind it. It also returns how many
// replicas acknowledged what the call wrote, which is for the caller to judge:
// what was done stays done. Since version 7.2 WAIT covers only the last write of
// its connection, so a script that finds its work done by an earlier copy of
// itself must write something all the same.
//
// Both commands go in one pipeline to one node: WAIT is about the connection it
// is sent on, and a Cluster client would send it, having no key, to any node.
// For the same reason redirections are followed here.
func RunReplicated[C redis.Cmder](
	ctx context.Context, r *Redis, c *Call, newCmd func(context.Context, ...any) C,
) (cmd C, acked int, err error) {
	node, err := r.nodeOf(ctx, c.key)
	if err != nil {
		return cmd, 0, err
	}
	asking, full := false, false
	for range maxHops {
		cmd = keyed(newCmd(ctx, c.sent(full)...))
		wait := redis.NewIntCmd(ctx, "wait", r.replicas, r.replicaMS)
		pipe := node.Pipeline()
		if asking {
			pipe.Do(ctx, "asking")
		}
		_ = pipe.BatchProcess(ctx, cmd, wait) // It only queues.
		_, _ = pipe.Exec(ctx)                 // Its error is that of a command.
		err = cmd.Err()
		moved, isMoved := redis.IsMovedError(err)
		ask, isAsk := redis.IsAskError(err)
		switch {
		case err == nil:
			if err = wait.Err(); err != nil {
				return cmd, 0, fmt.Errorf("wait for replicas: %w", explain(err))
			}
			return cmd, int(wait.Val()), nil
		case IsNoScript(err):
			full = true
		case r.cluster != nil && (isMoved || isAsk):
			// Nothing was done. An ASK is for one request only; a MOVED also
			// renews the client's table, in nodeAt.
			asking = isAsk
			if node, err = r.nodeAt(ctx, moved+ask, c.key); err != nil {
				return cmd, 0, err
			}
		default:
			if r.cluster != nil {
				r.cluster.ReloadState(ctx) // Perhaps another is the master now.
			}
			return cmd, 0, explain(err)
		}
	}
	return cmd, 0, errRedirected
}
