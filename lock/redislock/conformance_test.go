package redislock_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/redistest"
	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/lock/locktest"
	"github.com/semel-go/semel/lock/redislock"
)

// The laws of package locktest, on every kind of server and every face of the
// client.
func TestConformance(t *testing.T) {
	t.Parallel()
	t.Run("Miniredis", func(t *testing.T) {
		t.Parallel()
		conform(t, true, func(t *testing.T) locktest.Store {
			m := miniredis.RunT(t)
			return conforming(t, client(t, m.Addr()), nil, m.FastForward)
		})
	})
	t.Run("MiniredisClock", func(t *testing.T) {
		t.Parallel()
		conform(t, false, func(t *testing.T) locktest.Store {
			m := miniredis.RunT(t)
			m.ClockTTL(true)
			return conforming(t, client(t, m.Addr()), nil, nil)
		})
	})
	t.Run("Redis", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t)
		conform(t, false, func(t *testing.T) locktest.Store {
			return conforming(t, client(t, server.Addr()), nil, nil)
		})
	})
	t.Run("AutoPipeline", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t)
		conform(t, false, func(t *testing.T) locktest.Store {
			rdb := client(t, server.Addr())
			face, err := rdb.AutoPipeline()
			require.NoError(t, err)
			return conforming(t, rdb, face, nil)
		})
	})
	t.Run("AsyncAutoPipeline", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t)
		conform(t, false, func(t *testing.T) locktest.Store {
			rdb := client(t, server.Addr())
			face, err := rdb.AsyncAutoPipeline()
			require.NoError(t, err)
			return conforming(t, rdb, face, nil)
		})
	})
	t.Run("Sentinel", func(t *testing.T) {
		t.Parallel()
		group := redistest.StartReplicated(t)
		conform(t, false, func(t *testing.T) locktest.Store {
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
		conform(t, false, func(t *testing.T) locktest.Store {
			rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: grid.Addrs()})
			t.Cleanup(func() { require.NoError(t, rdb.Close()) })
			return conforming(t, rdb, nil, nil)
		})
	})
	t.Run("Ring", func(t *testing.T) {
		t.Parallel()
		shards := map[string]string{"one": redistest.Start(t).Addr(), "two": redistest.Start(t).Addr()}
		conform(t, false, func(t *testing.T) locktest.Store {
			rdb := redis.NewRing(&redis.RingOptions{
				Addrs:       shards,
				HeartbeatFn: func(context.Context, *redis.Client) bool { return true },
			})
			t.Cleanup(func() { require.NoError(t, rdb.Close()) })
			return conforming(t, rdb, nil, nil)
		})
	})
}

// conform runs the laws. Redis counts in milliseconds, and so may tell of a
// lease that has just ended.
func conform(t *testing.T, frozen bool, open func(t *testing.T) locktest.Store) {
	locktest.Run(t, locktest.Harness{New: open, Features: locktest.Features{
		Fencing: true, Waiting: true, Batch: true, Inspect: true, Raise: true,
		FrozenClock: frozen, Granularity: 5 * time.Millisecond,
	}})
}

func client(t *testing.T, addr string) *redis.Client {
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { require.NoError(t, rdb.Close()) })
	return rdb
}

// conforming returns a store whose keys have a prefix of their own. The face
// is what the backend uses, rdb itself if it is nil.
func conforming(t *testing.T, rdb redis.UniversalClient, face redislock.Client, advance func(time.Duration)) locktest.Store {
	if face == nil {
		face = rdb.(redislock.Client)
	}
	o := redislock.Options{Prefix: t.Name() + ":", FixedRing: true}
	b, err := redislock.New(face, o)
	require.NoError(t, err)
	return locktest.Store{
		Backend: b,
		Advance: advance,
		Rewind: func() func() lock.Backend {
			before := contents(t, rdb, o.Prefix)
			return func() lock.Backend {
				ctx := context.WithoutCancel(t.Context())
				for name := range contents(t, rdb, o.Prefix) {
					require.NoError(t, rdb.Del(ctx, name).Err())
				}
				for name, was := range before {
					require.NoError(t, rdb.Set(ctx, name, was.value, was.left).Err())
				}
				return b
			}
		},
		Scan: func() {
			for name, is := range contents(t, rdb, o.Prefix) {
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
func contents(t *testing.T, rdb redis.UniversalClient, prefix string) map[string]content {
	ctx, mu, all := context.WithoutCancel(t.Context()), sync.Mutex{}, map[string]content{}
	scan := func(ctx context.Context, node *redis.Client) error {
		names := node.Scan(ctx, 0, "*", 1000).Iterator()
		for names.Next(ctx) {
			name := names.Val()
			if !strings.HasPrefix(name, prefix) {
				continue
			}
			value, err := node.Get(ctx, name).Result()
			if err == redis.Nil {
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
			if left == 0 {
				left = time.Millisecond // its last
			}
			mu.Lock()
			all[name] = content{value, left}
			mu.Unlock()
		}
		return names.Err()
	}
	var err error
	switch rdb := rdb.(type) {
	case *redis.ClusterClient:
		err = rdb.ForEachMaster(ctx, scan)
	case *redis.Ring:
		err = rdb.ForEachShard(ctx, scan)
	case *redis.Client:
		err = scan(ctx, rdb)
	}
	require.NoError(t, err)
	return all
}
