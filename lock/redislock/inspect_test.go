package redislock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/redistest"
	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/lock/redislock"
)

func TestBreak(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s store) {
		for _, situation := range situations {
			key := "break " + situation
			s.bring(t, key, situation)
			before := s.look(t, key)
			require.NoError(t, s.Break(t.Context(), key))
			after := s.look(t, key)
			if situation == absent {
				require.Equal(t, lock.StateAbsent, after.State)
				continue
			}
			require.Equal(t, lock.StateFree, after.State, situation)
			require.Equal(t, before.Fence, after.Fence)
			require.Equal(t, before.Nonce, after.Nonce)
			_, err := s.Acquire(t.Context(), request(key, before.Nonce))
			require.ErrorIs(t, err, lock.ErrSpent)
			_, err = s.Extend(t.Context(), request(key, before.Nonce))
			require.ErrorIs(t, err, lock.ErrExpired)
			s.acquire(t, key, "next")
		}
		require.NoError(t, s.rdb.Set(t.Context(), prefix+"foreign", "x", ttl).Err())
		require.Error(t, s.Break(t.Context(), "foreign"))
	})
}

func TestList(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s store) {
		want := map[string]lock.State{}
		for i := range 600 {
			key := fmt.Sprint("\x00k\xff", i)
			s.acquire(t, key, "me")
			want[key] = lock.StateHeld
			switch i % 3 {
			case 1:
				s.release(t, key, "me")
				want[key] = lock.StateFree
			case 2:
				s.keep(t, key, "me", ttl)
				want[key] = lock.StateKept
			}
		}
		// What is not a lock is left out.
		require.NoError(t, s.rdb.Set(t.Context(), prefix+"foreign", "x", ttl).Err())
		require.NoError(t, s.rdb.RPush(t.Context(), prefix+"list", "x").Err())
		require.NoError(t, s.rdb.Expire(t.Context(), prefix+"list", ttl).Err())
		require.NoError(t, s.rdb.Set(t.Context(), "other:prefix", "x", ttl).Err())

		got := map[string]lock.State{}
		for info, err := range s.List(t.Context()) {
			require.NoError(t, err)
			require.Positive(t, info.Remaining)
			require.NotZero(t, info.Fence)
			got[info.Key] = info.State
		}
		require.Equal(t, want, got)

		n := 0
		for _, err := range s.List(t.Context()) {
			require.NoError(t, err)
			n++
			break
		}
		require.Equal(t, 1, n)

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, err := range s.List(ctx) {
			require.ErrorIs(t, err, context.Canceled)
		}
		_, err := s.Look(t.Context(), "foreign")
		require.Error(t, err)
	})
}

func TestListThroughAutoPipeliner(t *testing.T) {
	t.Parallel()
	s := asyncStore(t, redistest.Start(t).Addr())
	mini := asyncStore(t, miniredis.RunT(t).Addr())
	for _, s := range []store{s, mini} {
		s.acquire(t, "k", "me")
		n := 0
		for info, err := range s.List(t.Context()) {
			require.NoError(t, err)
			require.Equal(t, "k", info.Key)
			n++
		}
		require.Equal(t, 1, n)
		report, err := s.Doctor(t.Context())
		require.NoError(t, err)
		require.Len(t, report.Servers, 1)
	}
}

func TestDoctor(t *testing.T) {
	t.Parallel()
	t.Run("well", func(t *testing.T) {
		t.Parallel()
		s := connect(t, redistest.Start(t).Addr())
		report, err := s.Doctor(t.Context())
		require.NoError(t, err)
		require.Empty(t, report.Problems())
		r := report.Servers[0]
		require.NotEmpty(t, r.Version)
		require.Equal(t, "noeviction", r.EvictionPolicy)
		require.Equal(t, redislock.No, r.Evicts)
		require.Equal(t, redislock.Yes, r.Scripts)
		require.Equal(t, redislock.Yes, r.Notifies)
		require.Zero(t, r.Replicas)
		require.True(t, r.ClockKnown)
		require.LessOrEqual(t, r.ClockOffset.Abs(), r.ClockError+time.Second)
		require.Empty(t, s.rdb.Keys(t.Context(), "*").Val(), "it writes nothing")
	})
	t.Run("unwell", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t, redistest.Options{Config: []string{
			"maxmemory-policy volatile-ttl", `rename-command EVALSHA ""`, `rename-command PUBLISH ""`,
		}})
		s := connect(t, server.Addr())
		b := backend(t, s.rdb, redislock.Options{Replicas: 2})
		report, err := b.Doctor(t.Context())
		require.NoError(t, err)
		require.Len(t, report.Problems(), 4)
		for i, text := range []string{"volatile-ttl", "scripts", "publish", "0 replicas"} {
			require.Contains(t, report.Problems()[i], text)
			require.Contains(t, report.Problems()[i], server.Addr())
		}
	})
	t.Run("secretive", func(t *testing.T) {
		t.Parallel()
		mini := miniredis.RunT(t)
		mini.SetTime(time.Now().Add(-time.Hour))
		s := connect(t, mini.Addr())
		report, err := s.Doctor(t.Context())
		require.NoError(t, err)
		r := report.Servers[0]
		require.Empty(t, r.Version)
		require.Equal(t, redislock.Unknown, r.Evicts)
		require.Equal(t, redislock.Yes, r.Scripts)
		require.Equal(t, -1, r.Replicas)
		require.InDelta(t, -time.Hour, r.ClockOffset, float64(time.Minute))
		require.Len(t, report.Problems(), 1)
		require.Contains(t, report.Problems()[0], "clock")
	})
	t.Run("down", func(t *testing.T) {
		t.Parallel()
		s := connect(t, nowhere)
		_, err := s.Doctor(t.Context())
		require.Error(t, err)
	})
}
