package redislock

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/semel-go/semel/internal/redisclient"
	"github.com/semel-go/semel/lock"
)

// lookCount is how many Redis keys List looks at in one round trip, so that no
// server is kept from others for long.
const lookCount = 64

// Look implements [lock.Inspector]. An empty key is [lock.ErrInvalid]; a Redis
// key that holds something else is an error.
func (b *Backend) Look(ctx context.Context, key string) (lock.Info, error) {
	if err := check(ctx, key, "-", lock.MinTTL); err != nil {
		return lock.Info{}, fmt.Errorf("redislock: look: %w", err)
	}
	c := b.newCall(b.scripts.look, key)
	cmd, err := redisclient.Run(ctx, b.redis, &c.Call, redis.NewSliceCmd)
	info, err := seen(key, cmd, err)
	if err != nil {
		return lock.Info{}, fmt.Errorf("redislock: look: %w", err)
	}
	return info, nil
}

// seen reads the answer to a look.
func seen(key string, cmd *redis.SliceCmd, err error) (lock.Info, error) {
	if err != nil {
		return lock.Info{}, err
	}
	reply := cmd.Val()
	if len(reply) != 2 {
		return lock.Info{}, redisclient.ErrNoAnswer
	}
	value, _ := reply[0].(string)
	left, _ := reply[1].(int64)
	if value == "" {
		return lock.Info{Key: key, State: lock.StateAbsent}, nil
	}
	info, err := parse(value)
	info.Key, info.Remaining = key, time.Duration(max(left, 1))*time.Millisecond
	return info, err
}

// List implements [lock.Inspector], with SCAN on every master. Redis keys with
// the prefix that hold something else are left out. It blocks no server for
// long, and reads all key names of each. It does not work through an
// AutoPipeliner of a Cluster, which does not let its masters be asked one by
// one: give New the ClusterClient.
func (b *Backend) List(ctx context.Context) iter.Seq2[lock.Info, error] {
	return func(yield func(lock.Info, error) bool) {
		for names, err := range b.redis.Scan(ctx, b.prefix) {
			if err != nil {
				yield(lock.Info{}, fmt.Errorf("redislock: list: %w", err))
				return
			}
			for some := range slices.Chunk(names, lookCount) {
				if !b.lookAll(ctx, some, yield) {
					return
				}
			}
		}
	}
}

// lookAll yields the states of some Redis keys, and reports whether to go on.
func (b *Backend) lookAll(ctx context.Context, names []string, yield func(lock.Info, error) bool) bool {
	calls := make([]*redisclient.Call, len(names))
	for i, name := range names {
		calls[i] = &b.newCall(b.scripts.look, name[len(b.prefix):]).Call
	}
	cmds, errs := redisclient.RunAll(ctx, b.redis, calls, redis.NewSliceCmd)
	for i, name := range names {
		info, err := seen(name[len(b.prefix):], cmds[i], errs[i])
		switch {
		case isForeign(err) || err == nil && info.State == lock.StateAbsent:
			continue
		case err != nil:
			yield(lock.Info{}, fmt.Errorf("redislock: list: %w", err))
			return false
		}
		if !yield(info, nil) {
			return false
		}
	}
	return true
}

// Break implements [lock.Inspector]. The spent nonce and the fence are
// remembered for as long as the broken claim would have lasted. A key that is
// absent or free stays as it is. An empty key is [lock.ErrInvalid].
func (b *Backend) Break(ctx context.Context, key string) error {
	if err := check(ctx, key, "-", lock.MinTTL); err != nil {
		return fmt.Errorf("redislock: break: %w", err)
	}
	if _, err := b.run(ctx, b.newCall(b.scripts.breakKey, key)); err != nil {
		return fmt.Errorf("redislock: break: %w", err)
	}
	return nil
}
