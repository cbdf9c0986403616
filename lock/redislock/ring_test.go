package redislock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/redistest"
	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/lock/redislock"
)

// alwaysUp is the HeartbeatFn of a fixed Ring.
func alwaysUp(context.Context, *redis.Client) bool { return true }

func TestFixedRing(t *testing.T) {
	t.Parallel()
	shards := map[string]*redistest.Server{}
	addrs := map[string]string{}
	for _, name := range []string{"a", "b", "c"} {
		shards[name] = redistest.Start(t)
		addrs[name] = shards[name].Addr()
	}
	ring := redis.NewRing(&redis.RingOptions{Addrs: addrs, HeartbeatFn: alwaysUp, ReadTimeout: 10 * time.Second})
	t.Cleanup(func() { _ = ring.Close() })
	b := backend(t, ring, redislock.Options{FixedRing: true})
	s := store{Backend: b}

	heard := newEars()
	listener := b.Listen(heard.notify)
	var reqs []lock.Request
	nodes := map[string]int{}
	for i := range 30 {
		key := fmt.Sprint("k", i)
		s.acquire(t, key, "me")
		nodes[b.Node(key)]++
		reqs = append(reqs, lock.Request{Key: key, Nonce: "me", TTL: ttl})
		listener.Watch(key)
		heard.await(t, key)
		waiting := request(key, "another")
		waiting.Waiting = true
		_, err := b.Acquire(t.Context(), waiting)
		require.ErrorIs(t, err, lock.ErrNotAcquired)
	}
	require.Len(t, nodes, 3)
	for addr := range nodes {
		require.Contains(t, []string{addrs["a"], addrs["b"], addrs["c"]}, addr)
	}
	grants, errs := b.ExtendBatch(t.Context(), reqs)
	for i := range reqs {
		require.NoError(t, errs[i])
		require.True(t, grants[i].Waiters)
	}
	listed := 0
	for _, err := range b.List(t.Context()) {
		require.NoError(t, err)
		listed++
	}
	require.Equal(t, len(reqs), listed)
	report, err := b.Doctor(t.Context())
	require.NoError(t, err)
	require.Len(t, report.Servers, 3)
	for _, req := range reqs {
		s.release(t, req.Key, "me")
		heard.await(t, req.Key)
		listener.Unwatch(req.Key)
	}
	require.NoError(t, listener.Close())

	// Each grant was made once: on the shard that has the key.
	wary := store{Backend: backend(t, ring, redislock.Options{FixedRing: true, Replicas: 1, ReplicaTimeout: time.Millisecond})}
	_, err = wary.Acquire(t.Context(), request("k0", "wary"))
	require.ErrorIs(t, err, lock.ErrUnavailable)
	require.Equal(t, lock.StateFree, s.look(t, "k0").State)

	// A shard that is down takes its keys with it: they are not granted by
	// another.
	shards["a"].Kill()
	for _, req := range reqs {
		_, err := b.Acquire(t.Context(), request(req.Key, "late"))
		if b.Node(req.Key) == addrs["a"] {
			require.Error(t, err)
			require.NotErrorIs(t, err, lock.ErrNotAcquired)
		} else {
			require.NoError(t, err)
		}
	}
}
