package redislock_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/lock"
)

// put stores a free value with a given last fence.
func (s store) put(t *testing.T, key string, last uint64) {
	t.Helper()
	value := fmt.Sprintf("1 free - %016d %016d %010d before", last, last, 1)
	require.NoError(t, s.rdb.Set(t.Context(), prefix+key, value, ttl).Err())
}

func TestFenceIsTheServersClock(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s store) {
		for i := range 200 {
			key := fmt.Sprint("k", i)
			before := s.rdb.Time(t.Context()).Val()
			g := s.acquire(t, key, "me")
			after := s.rdb.Time(t.Context()).Val()
			require.GreaterOrEqual(t, g.Fence, uint64(before.UnixMicro()))
			require.LessOrEqual(t, g.Fence, uint64(after.UnixMicro()))
			value, _ := s.raw(t, key)
			require.Equal(t, fmt.Sprintf("1 held - %016d %016d 0000000001 me", g.Fence, g.Fence), value)
		}
	})
}

func TestFenceGoesOnFromOneAheadOfTheClock(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s store) {
		// All 16 digits matter: the last ones are what a double printed with
		// 14 digits would lose.
		ahead := uint64(time.Now().Add(24*365*time.Hour).UnixMicro())/1000*1000 + 997
		s.put(t, "k", ahead)
		last := ahead
		for i := range 50 {
			nonce := fmt.Sprint("n", i)
			g, err := s.Acquire(t.Context(), lock.Request{Key: "k", Nonce: nonce, TTL: ttl, Block: 3})
			require.NoError(t, err)
			require.Equal(t, last+1, g.Fence)
			last = g.Fence + 2
			more, err := s.Extend(t.Context(), lock.Request{Key: "k", Nonce: nonce, TTL: ttl, Block: 64})
			require.NoError(t, err)
			require.Equal(t, last+1, more.Fence)
			last = more.Fence + 63
			require.Equal(t, last, s.look(t, "k").Fence)
			s.release(t, "k", nonce)
			require.Equal(t, last, s.look(t, "k").Fence)
		}
	})
}

func TestBlocksOfAnySize(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s store) {
		for _, n := range []uint64{1, 7, 8, 64, 77, 100, 777, 1000, 12345, 16777216, 9_999_999_999} {
			key := fmt.Sprint("k", n)
			g, err := s.Acquire(t.Context(), lock.Request{Key: key, Nonce: "me", TTL: ttl, Block: n})
			require.NoError(t, err)
			require.Equal(t, n, g.Block)
			require.Equal(t, g.Fence+n-1, s.look(t, key).Fence)
			more, err := s.Extend(t.Context(), lock.Request{Key: key, Nonce: "me", TTL: ttl, Block: n})
			require.NoError(t, err)
			require.GreaterOrEqual(t, more.Fence, g.Fence+n)
			require.Equal(t, more.Fence+n-1, s.look(t, key).Fence)
		}
	})
}

func TestReleaseGivesFencesBack(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s store) {
		take := func(key string) lock.Grant {
			g, err := s.Acquire(t.Context(), lock.Request{Key: key, Nonce: "me", TTL: ttl, Block: 1 << 30})
			require.NoError(t, err)
			return g
		}
		lastAfter := func(key string, fence uint64) uint64 {
			require.NoError(t, s.Release(t.Context(), lock.ReleaseRequest{Key: key, Nonce: "me", TTL: ttl, Fence: fence}))
			return s.look(t, key).Fence
		}
		g := take("middle")
		require.Equal(t, g.Fence+5, lastAfter("middle", g.Fence+5))
		g = take("end")
		require.Equal(t, g.Fence+1<<30-1, lastAfter("end", g.Fence+1<<30-1))
		g = take("none")
		require.Equal(t, g.Fence+1<<30-1, lastAfter("none", 0))
		g = take("before")
		require.Equal(t, g.Fence+1<<30-1, lastAfter("before", g.Fence-1))
		g = take("beyond")
		require.Equal(t, g.Fence+1<<30-1, lastAfter("beyond", g.Fence+1<<31))
		g = take("absurd")
		require.Equal(t, g.Fence+1<<30-1, lastAfter("absurd", math.MaxUint64))
	})
}

func TestRaise(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s store) {
		raise := func(nonce string, fence uint64) error { return s.Raise(t.Context(), "k", nonce, fence) }
		require.ErrorIs(t, raise("me", 1), lock.ErrExpired)
		g := s.acquire(t, "k", "me")
		require.ErrorIs(t, raise("another", 1), lock.ErrTaken)
		require.NoError(t, raise("me", 1))
		require.Equal(t, g.Fence, s.look(t, "k").Fence)
		high := g.Fence + 1<<40 + 7
		require.NoError(t, raise("me", high))
		require.Equal(t, high, s.look(t, "k").Fence)
		// A fence that was raised is not given back.
		require.NoError(t, s.Release(t.Context(), lock.ReleaseRequest{Key: "k", Nonce: "me", TTL: ttl, Fence: g.Fence}))
		require.ErrorIs(t, raise("me", high), lock.ErrExpired)
		require.Equal(t, high+1, s.acquire(t, "k", "next").Fence)

		for _, fence := range []uint64{1 << 52, math.MaxInt64, math.MaxUint64} {
			s.unchanged(t, "k", func() {
				err := raise("next", fence)
				require.ErrorContains(t, err, "out of range")
				require.NotErrorIs(t, err, lock.ErrLost)
			})
		}
		require.NoError(t, raise("next", 1<<52-100))
		require.Equal(t, uint64(1<<52-100), s.look(t, "k").Fence)
	})
}

// A fence that a script's numbers cannot hold exactly is no grant.
func TestFenceOutOfRange(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s store) {
		s.put(t, "k", 1<<52-2)
		_, err := s.Acquire(t.Context(), request("k", "me"))
		require.ErrorContains(t, err, "out of range")
	})
}

// A clock before 2001 has fewer than 16 digits of µs.
func TestFenceOfAnEarlyClock(t *testing.T) {
	t.Parallel()
	mini := miniredis.RunT(t)
	s := connect(t, mini.Addr())
	last := uint64(0)
	for _, at := range []time.Time{
		time.UnixMicro(5), time.UnixMicro(77), time.Unix(1, 7000), time.Unix(7, 777777000), time.Date(2000, 1, 1, 0, 0, 0, 42000, time.UTC),
		time.Unix(999_999_999, 999_999_000), time.Unix(1_000_000_000, 1000),
	} {
		mini.SetTime(at)
		nonce := at.String()
		g := s.acquire(t, "k", nonce)
		require.Equal(t, uint64(at.UnixMicro()), g.Fence)
		require.Greater(t, g.Fence, last)
		require.Equal(t, g.Fence, s.look(t, "k").Fence)
		more, err := s.Extend(t.Context(), request("k", nonce))
		require.NoError(t, err)
		require.Equal(t, g.Fence+1, more.Fence)
		require.Equal(t, g.Fence+1, s.look(t, "k").Fence)
		last = more.Fence
		s.release(t, "k", nonce)
	}
}
