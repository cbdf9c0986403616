package redisstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency/redisstore"
	"github.com/semel-go/semel/internal/redistest"
	"github.com/semel-go/semel/observe"
)

// events returns an observer and what it is told.
func events() (observe.Observer, chan observe.Event) {
	told := make(chan observe.Event, 100)
	return observe.Func(func(_ context.Context, e observe.Event) { told <- e }), told
}

func TestEvictionIsTold(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		config []string
		told   bool
	}{
		"no limit":   {[]string{"maxmemory 0", "maxmemory-policy allkeys-lru"}, false},
		"noeviction": {[]string{"maxmemory 100mb", "maxmemory-policy noeviction"}, false},
		"volatile":   {[]string{"maxmemory 100mb", "maxmemory-policy volatile-ttl"}, true},
		"all":        {[]string{"maxmemory 100mb", "maxmemory-policy allkeys-random"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.Options{Config: tc.config})
			rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
			t.Cleanup(func() { _ = rdb.Close() })
			observer, told := events()
			s := newStore(t, rdb, redisstore.Options{Observer: observer})
			for i := range 3 {
				_, err := s.Begin(t.Context(), request(digestOf(t, string(rune('a'+i))), newNonce()))
				require.NoError(t, err)
			}
			if tc.told {
				select {
				case e := <-told:
					require.Equal(t, observe.EvictionPossible, e.Kind)
					require.WithinDuration(t, time.Now(), e.Time, time.Minute)
					require.ErrorContains(t, e.Err, server.Addr())
					require.ErrorContains(t, e.Err, "maxmemory-policy")
				case <-time.After(30 * time.Second):
					t.Fatal("nothing is told")
				}
			}
			require.NoError(t, s.Close())
			require.Empty(t, told)
		})
	}
}

// TestEvictionUnknown is a server that does not let us know, and one that does
// not answer: neither is in anybody's way.
func TestEvictionUnknown(t *testing.T) {
	t.Parallel()
	observer, told := events()
	e := connect(t, miniredis.RunT(t).Addr()) // It has no INFO memory.
	s := newStore(t, e.rdb, redisstore.Options{Observer: observer})
	_, err := s.Begin(t.Context(), request(digestOf(t, "a"), newNonce()))
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.Empty(t, told)
	_, err = s.Begin(t.Context(), request(digestOf(t, "b"), newNonce()))
	require.NoError(t, err, "a closed store goes on")

	unused := newStore(t, e.rdb, redisstore.Options{Observer: observer})
	require.NoError(t, unused.Close())
	_, err = unused.Begin(t.Context(), request(digestOf(t, "c"), newNonce()))
	require.NoError(t, err)
	require.NoError(t, unused.Close())
	require.Empty(t, told)
}
