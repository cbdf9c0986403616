package redislock

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/semel-go/semel/internal/redisclient"
	"github.com/semel-go/semel/lock"
)

// undoTimeout bounds the release of a grant that too few replicas have.
const undoTimeout = time.Second

// acquireReplicated runs an acquire and waits for the replicas. If a grant has
// too few it is given back.
func (b *Backend) acquireReplicated(ctx context.Context, c *call, req lock.Request) (int64, error) {
	reply, acked, err := b.runReplicated(ctx, c)
	if err != nil || reply < 0 || acked >= b.redis.Replicas() {
		return reply, err
	}
	err = b.redis.TooFew(acked)
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
	if b.redis.Replicas() == 0 || !wanted {
		return b.run(ctx, c)
	}
	reply, acked, err := b.runReplicated(ctx, c)
	if err == nil && reply > 0 && acked < b.redis.Replicas() {
		err = b.redis.TooFew(acked)
	}
	return reply, err
}

// runReplicated is run, and also returns how many replicas acknowledged it.
func (b *Backend) runReplicated(ctx context.Context, c *call) (reply int64, acked int, err error) {
	cmd, acked, err := redisclient.RunReplicated(ctx, b.redis, &c.Call, redis.NewIntCmd)
	reply, err = answer(cmd, err)
	return reply, acked, err
}
