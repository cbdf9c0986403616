package redislock

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/semel-go/semel/lock"
)

const (
	// scanCount is how many Redis keys a server goes through in one step of
	// List.
	scanCount = 512
	// lookCount is how many of those found are looked at in one round trip.
	lookCount = 64
)

// Look implements [lock.Inspector]. An empty key is [lock.ErrInvalid]; a Redis
// key that holds something else is an error.
func (b *Backend) Look(ctx context.Context, key string) (lock.Info, error) {
	if err := check(ctx, key, "-", lock.MinTTL); err != nil {
		return lock.Info{}, fmt.Errorf("redislock: look: %w", err)
	}
	c := b.newCall(&b.scripts.look, key)
	cmd := keyed(redis.NewSliceCmd(ctx, c.args[:c.used]...))
	err := b.process(ctx, cmd)
	if isNoScript(err) {
		cmd = keyed(redis.NewSliceCmd(ctx, c.fullArgs()...))
		err = b.process(ctx, cmd)
	}
	info, err := seen(key, cmd, err)
	if err != nil {
		return lock.Info{}, fmt.Errorf("redislock: look: %w", err)
	}
	return info, nil
}

// seen reads the answer to a look.
func seen(key string, cmd *redis.SliceCmd, err error) (lock.Info, error) {
	if err != nil {
		return lock.Info{}, explain(err)
	}
	reply := cmd.Val()
	if len(reply) != 2 {
		return lock.Info{}, errNoAnswer
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
		servers, err := b.servers(ctx)
		if err != nil {
			yield(lock.Info{}, fmt.Errorf("redislock: list: %w", err))
			return
		}
		for _, s := range servers {
			if !b.list(ctx, s, yield) {
				return
			}
		}
	}
}

// list yields the keys of one server, and reports whether to go on.
func (b *Backend) list(ctx context.Context, s server, yield func(lock.Info, error) bool) bool {
	pattern := escapeGlob(b.prefix) + "*"
	cursor := uint64(0)
	for {
		if err := ctx.Err(); err != nil {
			yield(lock.Info{}, fmt.Errorf("redislock: list: %w", err))
			return false
		}
		scan := redis.NewScanCmd(ctx, nil, "scan", cursor, "match", pattern, "count", scanCount)
		if err := s.process(ctx, scan); err != nil {
			yield(lock.Info{}, fmt.Errorf("redislock: list: %w", explain(err)))
			return false
		}
		names, next := scan.Val()
		for some := range slices.Chunk(names, lookCount) {
			if !b.lookAll(ctx, some, yield) {
				return false
			}
		}
		if cursor = next; cursor == 0 {
			return true
		}
	}
}

// lookAll yields the states of some Redis keys, and reports whether to go on.
func (b *Backend) lookAll(ctx context.Context, names []string, yield func(lock.Info, error) bool) bool {
	cmds := make([]*redis.SliceCmd, len(names))
	for i, name := range names {
		// The first brings the script along for the others.
		c := b.newCall(&b.scripts.look, name[len(b.prefix):])
		args := c.args[:c.used]
		if i == 0 {
			args = c.fullArgs()
		}
		cmds[i] = keyed(redis.NewSliceCmd(ctx, args...))
	}
	for i, err := range processAll(ctx, b, cmds) {
		key := names[i][len(b.prefix):]
		var info lock.Info
		if isNoScript(err) {
			info, err = b.Look(ctx, key) // A Cluster has sent it elsewhere than the first.
		} else {
			info, err = seen(key, cmds[i], err)
		}
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
	if _, err := b.run(ctx, b.newCall(&b.scripts.breakKey, key)); err != nil {
		return fmt.Errorf("redislock: break: %w", err)
	}
	return nil
}

// escapeGlob returns a pattern that matches text alone.
func escapeGlob(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(text)
}
