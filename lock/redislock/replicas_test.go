package redislock_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/redistest"
	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/lock/redislock"
)

// patient is long enough for a replica on a busy machine.
const patient = 4 * time.Second

func TestTooFewReplicas(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s store) {
		// Neither server has a replica.
		wary := store{
			Backend: backend(t, s.rdb, redislock.Options{Replicas: 2, ReplicaTimeout: time.Millisecond}), rdb: s.rdb,
		}
		_, err := wary.Acquire(t.Context(), request("k", "me"))
		require.ErrorIs(t, err, lock.ErrUnavailable)
		require.NotErrorIs(t, err, lock.ErrNotAcquired)
		require.ErrorContains(t, err, "0 of the 2 replicas")
		require.Equal(t, lock.StateFree, s.look(t, "k").State, "the grant is undone")
		_, err = s.Acquire(t.Context(), request("k", "me"))
		require.ErrorIs(t, err, lock.ErrSpent, "a copy of it is refused")

		// A refusal is one, whatever the replicas have.
		s.acquire(t, "held", "another")
		_, err = wary.Acquire(t.Context(), request("held", "me"))
		require.ErrorIs(t, err, lock.ErrNotAcquired)
		_, err = wary.Extend(t.Context(), request("held", "me"))
		require.ErrorIs(t, err, lock.ErrTaken)

		// A lease may be in use: it is not undone.
		_, err = wary.Extend(t.Context(), request("held", "another"))
		require.ErrorIs(t, err, lock.ErrUnavailable)
		require.ErrorIs(t, wary.Raise(t.Context(), "held", "another", 5), lock.ErrUnavailable)
		_, errs := wary.ExtendBatch(t.Context(), []lock.Request{
			{Key: "held", Nonce: "another", TTL: ttl}, {Key: "held", Nonce: "another", TTL: ttl, Block: 1},
		})
		require.NoError(t, errs[0])
		require.ErrorIs(t, errs[1], lock.ErrUnavailable)
		require.Equal(t, lock.StateHeld, s.look(t, "held").State)

		// Renewal and release wait for nobody.
		_, err = wary.Extend(t.Context(), lock.Request{Key: "held", Nonce: "another", TTL: ttl})
		require.NoError(t, err)
		wary.release(t, "held", "another")
	})
}

func TestEnoughReplicas(t *testing.T) {
	t.Parallel()
	master, replica := redistest.Start(t), redistest.Start(t)
	replica.ReplicaOf(master)
	rdb := redis.NewClient(&redis.Options{Addr: master.Addr()})
	t.Cleanup(func() { _ = rdb.Close() })
	s := store{Backend: backend(t, rdb, redislock.Options{Replicas: 1, ReplicaTimeout: patient}), rdb: rdb}
	copied := connect(t, replica.Addr())

	for range 2 { // the second time with the scripts forgotten
		g := s.acquire(t, "k", "me")
		value, _ := copied.raw(t, "k")
		require.Contains(t, value, "1 held")
		more, err := s.Extend(t.Context(), lock.Request{Key: "k", Nonce: "me", TTL: ttl, Block: 64})
		require.NoError(t, err)
		require.Greater(t, more.Fence, g.Fence)
		value, _ = copied.raw(t, "k")
		require.Contains(t, value, digits(more.Fence+63))
		require.NoError(t, s.Raise(t.Context(), "k", "me", more.Fence+1<<40))
		value, _ = copied.raw(t, "k")
		require.Contains(t, value, digits(more.Fence+1<<40))
		require.NoError(t, rdb.ScriptFlush(t.Context()).Err())
		s.expireNow(t, "k")
	}
	s.noneForever(t)
}

// What a WAIT covers is the last write of its connection, and a copy of a
// request comes on another one: it has to write, even if it changes nothing.
func TestCopyWritesForItsWait(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := connect(t, server.Addr())
	g := s.acquire(t, "k", "me")
	_, err := s.Extend(t.Context(), lock.Request{Key: "k", Nonce: "me", TTL: 2 * ttl})
	require.NoError(t, err)
	written := func() string {
		persistence, err := server.Info("persistence")
		require.NoError(t, err)
		return persistence["rdb_changes_since_last_save"]
	}
	before := written()
	require.Equal(t, g, s.acquire(t, "k", "me"))
	require.NotEqual(t, before, written())
	_, left := s.raw(t, "k")
	require.Greater(t, left, ttl, "it shortens nothing")
}

// expireNow removes a key as its expiry would.
func (s store) expireNow(t *testing.T, key string) {
	t.Helper()
	require.NoError(t, s.rdb.Del(t.Context(), prefix+key).Err())
}
