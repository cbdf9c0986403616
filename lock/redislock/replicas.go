package redislock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/semel-go/semel/lock"
)

const (
	// maxHops is how many redirections a call follows.
	maxHops = 5
	// undoTimeout bounds the release of a grant that too few replicas have.
	undoTimeout = time.Second
)

// errRedirected is a Cluster that sends us round in circles, or to a node that
// is not in its own table. Nothing was done.
var errRedirected = errors.New("redirected too often")

// acquireReplicated runs an acquire and waits for the replicas. If a grant has
// too few it is given back.
func (b *Backend) acquireReplicated(ctx context.Context, c *call, req lock.Request) (int64, error) {
	reply, acked, err := b.runReplicated(ctx, c)
	if err != nil || reply < 0 || acked >= b.replicas {
		return reply, err
	}
	err = b.tooFew(acked)
	// The grant was not seen by anybody, so that it can be undone here. The
	// caller's context may end meanwhile, and what it leaves is then in doubt.
	undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	if undoErr := b.Release(undo, lock.ReleaseRequest{
		Key: req.Key, Nonce: req.Nonce, TTL: req.TTL, Compensate: true,
	}); undoErr != nil {
		err = fmt.Errorf("%w; and could not be undone: %w", err, undoErr)
	}
	return 0, err
}

// runCovered runs a call and, if wanted and configured, waits for the replicas.
// What the call did stays if they are too few: it belongs to a lease that is
// perhaps in use.
func (b *Backend) runCovered(ctx context.Context, c *call, wanted bool) (int64, error) {
	if b.replicas == 0 || !wanted {
		return b.run(ctx, c)
	}
	reply, acked, err := b.runReplicated(ctx, c)
	if err == nil && reply > 0 && acked < b.replicas {
		err = b.tooFew(acked)
	}
	return reply, err
}

func (b *Backend) tooFew(acked int) error {
	return fmt.Errorf("%d of the %d replicas asked for acknowledged it within %d ms: %w",
		acked, b.replicas, b.replicaMS, lock.ErrUnavailable)
}

// runReplicated runs a call with a WAIT behind it and returns the script's
// answer and how many replicas acknowledged everything that the connection has
// written. Both go in one pipeline to one node: WAIT is about the connection it
// is sent on, and a Cluster client would send it, having no key, to any node.
// For the same reason redirections are followed here.
func (b *Backend) runReplicated(ctx context.Context, c *call) (reply int64, acked int, err error) {
	var node interface{ Pipeline() redis.Pipeliner }
	if node, err = b.nodeOf(ctx, c.key); err != nil {
		return 0, 0, err
	}
	asking, full := false, false
	for range maxHops {
		cmd := c.command(ctx)
		if full {
			cmd = c.full(ctx)
		}
		wait := redis.NewIntCmd(ctx, "wait", b.replicas, b.replicaMS)
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
				return 0, 0, fmt.Errorf("wait for replicas: %w", explain(err))
			}
			reply, err = answer(cmd, nil)
			return reply, int(wait.Val()), err
		case isNoScript(err):
			full = true
		case b.cluster != nil && (isMoved || isAsk):
			// Nothing was done. An ASK is for one request only; a MOVED also
			// renews the client's table, in nodeAt.
			asking = isAsk
			if node, err = b.nodeAt(ctx, moved+ask, c.key); err != nil {
				return 0, 0, err
			}
		default:
			if b.cluster != nil {
				b.cluster.ReloadState(ctx) // Perhaps another is the master now.
			}
			return 0, 0, explain(err)
		}
	}
	return 0, 0, errRedirected
}

// nodeOf returns the client of the server that has key, which is the client
// itself unless it is one for many servers.
func (b *Backend) nodeOf(ctx context.Context, key string) (interface{ Pipeline() redis.Pipeliner }, error) {
	switch {
	case b.cluster != nil:
		return b.cluster.MasterForKey(ctx, key)
	case b.ring != nil:
		return b.ring.GetShardClientForKey(key)
	}
	return b.rdb, nil
}

// nodeAt returns the client of the Cluster node at addr. If the table does not
// have it under that name, it is the master of key by the table, which is new.
func (b *Backend) nodeAt(ctx context.Context, addr, key string) (interface{ Pipeline() redis.Pipeliner }, error) {
	masters, err := b.masters(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range masters {
		if m.Options().Addr == addr {
			return m, nil
		}
	}
	return b.cluster.MasterForKey(ctx, key)
}
