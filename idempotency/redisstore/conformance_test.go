package redisstore_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/idempotencytest"
	"github.com/semel-go/semel/idempotency/redisstore"
	"github.com/semel-go/semel/internal/redistest"
)

// The laws of package idempotencytest, on every kind of server and every face
// of the client.
func TestConformance(t *testing.T) {
	t.Parallel()
	all := idempotencytest.Features{
		Waiting: true, Batch: true, Bind: true, Inspect: true,
		// Redis counts in milliseconds, and so may tell of a lease that has just
		// ended.
		Granularity: 5 * time.Millisecond,
	}
	t.Run("Miniredis", func(t *testing.T) {
		t.Parallel()
		frozen := all
		frozen.FrozenClock = true
		conform(t, frozen, func(t *testing.T) idempotencytest.Store {
			m := miniredis.RunT(t)
			now := time.Now()
			m.SetTime(now)
			return conforming(t, client(t, m.Addr()), nil, func(d time.Duration) {
				now = now.Add(d)
				m.SetTime(now)
				m.FastForward(d)
			})
		})
	})
	t.Run("MiniredisClock", func(t *testing.T) {
		t.Parallel()
		// It looks at all keys for each command, so that lists take too long.
		passing := all
		passing.Inspect = false
		conform(t, passing, func(t *testing.T) idempotencytest.Store {
			m := miniredis.RunT(t)
			m.ClockTTL(true)
			return conforming(t, client(t, m.Addr()), nil, nil)
		})
	})
	t.Run("Redis", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t)
		conform(t, all, func(t *testing.T) idempotencytest.Store {
			return conforming(t, client(t, server.Addr()), nil, nil)
		})
	})
	t.Run("AutoPipeline", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t)
		conform(t, all, func(t *testing.T) idempotencytest.Store {
			rdb := client(t, server.Addr())
			face, err := rdb.AutoPipeline()
			require.NoError(t, err)
			return conforming(t, rdb, face, nil)
		})
	})
	t.Run("AsyncAutoPipeline", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t)
		conform(t, all, func(t *testing.T) idempotencytest.Store {
			rdb := client(t, server.Addr())
			face, err := rdb.AsyncAutoPipeline()
			require.NoError(t, err)
			return conforming(t, rdb, face, nil)
		})
	})
	t.Run("Sentinel", func(t *testing.T) {
		t.Parallel()
		group := redistest.StartReplicated(t)
		conform(t, all, func(t *testing.T) idempotencytest.Store {
			rdb := redis.NewFailoverClient(&redis.FailoverOptions{
				MasterName: group.MasterName(), SentinelAddrs: group.SentinelAddrs(),
			})
			t.Cleanup(func() { require.NoError(t, rdb.Close()) })
			return conforming(t, rdb, nil, nil)
		})
	})
	t.Run("Cluster", func(t *testing.T) {
		t.Parallel()
		grid := redistest.StartCluster(t, 3)
		conform(t, all, func(t *testing.T) idempotencytest.Store {
			rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: grid.Addrs()})
			t.Cleanup(func() { require.NoError(t, rdb.Close()) })
			return conforming(t, rdb, nil, nil)
		})
	})
}

// conform runs the laws.
func conform(t *testing.T, f idempotencytest.Features, open func(t *testing.T) idempotencytest.Store) {
	t.Helper()
	idempotencytest.Run(t, idempotencytest.Harness{New: open, Features: f})
}

func client(t *testing.T, addr string) *redis.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { require.NoError(t, rdb.Close()) })
	return rdb
}

// conforming returns a store whose Redis keys have a prefix of their own. The
// face is what the store uses, rdb itself if it is nil.
func conforming(
	t *testing.T, rdb redis.UniversalClient, face redisstore.Client, advance func(time.Duration),
) idempotencytest.Store {
	t.Helper()
	if face == nil {
		face = rdb.(redisstore.Client)
	}
	own := t.Name() + ":"
	s := newStore(t, face, redisstore.Options{Prefix: own})
	return idempotencytest.Store{
		Store:   s,
		Advance: advance,
		Rewind: func() func() idempotency.Store {
			before := contents(t, rdb, own)
			return func() idempotency.Store {
				ctx := context.WithoutCancel(t.Context())
				for name := range contents(t, rdb, own) {
					require.NoError(t, rdb.Del(ctx, name).Err())
				}
				for name, was := range before {
					require.NoError(t, rdb.Set(ctx, name, was.value, was.left).Err())
				}
				return s
			}
		},
		Scan: func() {
			for name, is := range contents(t, rdb, own) {
				require.Positive(t, is.left, "the Redis key %.80q has no expiry: %q", name, is.value)
			}
		},
	}
}

// content is a Redis key's value and what is left of its TTL.
type content struct {
	value string
	left  time.Duration
}

// contents returns what is stored under a prefix. A key that expires meanwhile
// is left out.
func contents(t *testing.T, rdb redis.UniversalClient, own string) map[string]content {
	t.Helper()
	ctx, mu, all := context.WithoutCancel(t.Context()), sync.Mutex{}, map[string]content{}
	scan := func(ctx context.Context, node *redis.Client) error {
		names := node.Scan(ctx, 0, "*", 1000).Iterator()
		for names.Next(ctx) {
			name := names.Val()
			if !strings.HasPrefix(name, own) {
				continue
			}
			value, err := node.Get(ctx, name).Result()
			if errors.Is(err, redis.Nil) {
				continue
			}
			if err != nil {
				return err
			}
			left, err := node.PTTL(ctx, name).Result()
			if err != nil {
				return err
			}
			if left == -2 {
				continue
			}
			mu.Lock()
			if left == 0 {
				left = time.Millisecond // its last
			}
			all[name] = content{value, left}
			mu.Unlock()
		}
		return names.Err()
	}
	var err error
	switch rdb := rdb.(type) {
	case *redis.ClusterClient:
		err = rdb.ForEachMaster(ctx, scan)
	case *redis.Client:
		err = scan(ctx, rdb)
	}
	require.NoError(t, err)
	return all
}
