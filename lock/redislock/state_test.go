package redislock_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/lock"
)

// The states of a key as nonce "me" sees them, made by bring.
const (
	absent    = "absent"
	mineHeld  = "held by me"
	mineKept  = "kept by me"
	mineFree  = "free after me"
	otherHeld = "held by another"
	otherKept = "kept by another"
	otherFree = "free after another"
)

var situations = []string{absent, mineHeld, mineKept, mineFree, otherHeld, otherKept, otherFree}

// bring brings a key, named after it, into a situation, for some 30 s.
func (s store) bring(t *testing.T, key, situation string) {
	t.Helper()
	nonce := "me"
	if strings.Contains(situation, "another") {
		nonce = "another"
	}
	if situation == absent {
		return
	}
	s.acquire(t, key, nonce)
	switch {
	case strings.HasPrefix(situation, "kept"):
		s.keep(t, key, nonce, ttl)
	case strings.HasPrefix(situation, "free"):
		s.release(t, key, nonce)
	}
}

func TestAcquireInEveryState(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s store) {
		for _, situation := range situations {
			key := "acquire " + situation
			s.bring(t, key, situation)
			before := s.look(t, key)
			switch situation {
			case absent, otherFree:
				g := s.acquire(t, key, "me")
				require.Greater(t, g.Fence, before.Fence, situation)
				require.EqualValues(t, 1, g.Block)
				after := s.look(t, key)
				require.Equal(t, lock.StateHeld, after.State)
				require.Equal(t, "me", after.Nonce)
				require.Equal(t, g.Fence, after.Fence)
				require.InDelta(t, ttl, after.Remaining, float64(5*time.Second))
			case mineHeld:
				require.Equal(t, before.Fence, s.acquire(t, key, "me").Fence)
			case mineKept, mineFree:
				s.unchanged(t, key, func() {
					_, err := s.Acquire(t.Context(), request(key, "me"))
					require.ErrorIs(t, err, lock.ErrSpent, situation)
				})
			case otherHeld, otherKept:
				s.unchanged(t, key, func() {
					_, err := s.Acquire(t.Context(), request(key, "me"))
					require.ErrorIs(t, err, lock.ErrNotAcquired, situation)
					var held *lock.HeldError
					require.ErrorAs(t, err, &held)
					require.Equal(t, key, held.Key)
					require.Greater(t, held.Remaining, ttl-10*time.Second)
					require.LessOrEqual(t, held.Remaining, ttl)
				})
			}
		}
	})
}

func TestExtendInEveryState(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s store) {
		for _, block := range []uint64{0, 64} {
			for _, situation := range situations {
				key := "extend " + situation
				if block > 0 {
					key += " with a block"
				}
				s.bring(t, key, situation)
				before := s.look(t, key)
				extend := func() (lock.Grant, error) {
					return s.Extend(t.Context(), lock.Request{Key: key, Nonce: "me", TTL: time.Minute, Block: block})
				}
				want := map[string]error{
					absent: lock.ErrExpired, mineKept: lock.ErrExpired, mineFree: lock.ErrExpired,
					otherFree: lock.ErrExpired, otherHeld: lock.ErrTaken, otherKept: lock.ErrTaken,
				}[situation]
				if want != nil {
					s.unchanged(t, key, func() {
						_, err := extend()
						require.ErrorIs(t, err, want, situation)
						require.ErrorIs(t, err, lock.ErrLost)
					})
					continue
				}
				g, err := extend()
				require.NoError(t, err)
				require.False(t, g.Waiters)
				after := s.look(t, key)
				require.Equal(t, lock.StateHeld, after.State)
				require.Greater(t, after.Remaining, 50*time.Second)
				require.Equal(t, block, g.Block)
				if block == 0 {
					require.Zero(t, g.Fence)
					require.Equal(t, before.Fence, after.Fence)
				} else {
					require.Greater(t, g.Fence, before.Fence)
					require.Equal(t, g.Fence+block-1, after.Fence)
				}
			}
		}
	})
}

func TestReleaseInEveryState(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s store) {
		for _, compensate := range []bool{false, true} {
			for _, situation := range situations {
				key := "release " + situation
				if compensate {
					key = "compensate " + situation
				}
				s.bring(t, key, situation)
				before := s.look(t, key)
				release := func() error {
					return s.Release(t.Context(), lock.ReleaseRequest{Key: key, Nonce: "me", TTL: ttl, Compensate: compensate})
				}
				becomesFree := func() {
					require.NoError(t, release(), situation)
					after := s.look(t, key)
					require.Equal(t, lock.StateFree, after.State)
					require.Equal(t, "me", after.Nonce)
					require.Equal(t, before.Fence, after.Fence)
					require.InDelta(t, ttl, after.Remaining, float64(10*time.Second))
					_, err := s.Acquire(t.Context(), request(key, "me"))
					require.ErrorIs(t, err, lock.ErrSpent)
				}
				refused := func(want error) {
					s.unchanged(t, key, func() { require.ErrorIs(t, release(), want, situation) })
				}
				switch situation {
				case mineHeld:
					becomesFree()
				case mineFree, mineKept:
					s.unchanged(t, key, func() { require.NoError(t, release(), situation) })
				case absent, otherFree:
					if compensate {
						becomesFree()
						s.acquire(t, key, "next")
					} else {
						refused(lock.ErrExpired)
					}
				case otherHeld, otherKept:
					refused(lock.ErrTaken)
				}
			}
		}
	})
}

func TestKeep(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s store) {
		s.acquire(t, "k", "me")
		s.keep(t, "k", "me", time.Minute)
		info := s.look(t, "k")
		require.Equal(t, lock.StateKept, info.State)
		require.Greater(t, info.Remaining, 50*time.Second)
		s.expire(t, prefix+"k")
		require.Equal(t, lock.StateAbsent, s.look(t, "k").State)
		s.acquire(t, "k", "next")
	})
}

func TestExpiryFrees(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s store) {
		first := s.acquire(t, "k", "me")
		s.expire(t, prefix+"k")
		_, err := s.Extend(t.Context(), request("k", "me"))
		require.ErrorIs(t, err, lock.ErrExpired)
		second := s.acquire(t, "k", "next")
		require.Greater(t, second.Fence, first.Fence)
		_, err = s.Extend(t.Context(), request("k", "me"))
		require.ErrorIs(t, err, lock.ErrTaken)
	})
}

func TestNothingShortensALease(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s store) {
		s.acquire(t, "k", "me")
		_, err := s.Extend(t.Context(), lock.Request{Key: "k", Nonce: "me", TTL: time.Hour})
		require.NoError(t, err)
		for _, block := range []uint64{0, 3} {
			_, err = s.Extend(t.Context(), lock.Request{Key: "k", Nonce: "me", TTL: lock.MinTTL, Block: block})
			require.NoError(t, err)
		}
		require.NoError(t, s.Raise(t.Context(), "k", "me", 5))
		s.acquire(t, "k", "me") // a copy of the acquire that comes late
		require.Greater(t, s.look(t, "k").Remaining, 50*time.Minute)
	})
}

func TestCopyOfAcquireArmsFullTTL(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s store) {
		first, err := s.Acquire(t.Context(), lock.Request{Key: "k", Nonce: "me", TTL: ttl, Block: 64})
		require.NoError(t, err)
		require.NoError(t, s.rdb.PExpire(t.Context(), prefix+"k", short).Err())
		again, err := s.Acquire(t.Context(), lock.Request{Key: "k", Nonce: "me", TTL: ttl, Block: 64})
		require.NoError(t, err)
		require.Equal(t, first, again)
		require.Greater(t, s.look(t, "k").Remaining, short)
	})
}

func TestNoncesAreComparedWhole(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s store) {
		for _, pair := range [][2]string{
			{"nonce", "nonce2"}, {"nonce2", "nonce"}, {"n", "m"}, {"a\x00b", "a"}, {"a", "a\x00b"}, {" ", "  "},
			{strings.Repeat("x", 300), strings.Repeat("x", 299)},
		} {
			key := "nonce " + pair[0] + "/" + pair[1]
			s.acquire(t, key, pair[0])
			_, err := s.Acquire(t.Context(), request(key, pair[1]))
			require.ErrorIs(t, err, lock.ErrNotAcquired)
			_, err = s.Extend(t.Context(), request(key, pair[1]))
			require.ErrorIs(t, err, lock.ErrTaken)
			err = s.Release(t.Context(), lock.ReleaseRequest{Key: key, Nonce: pair[1], TTL: ttl})
			require.ErrorIs(t, err, lock.ErrTaken)
			require.ErrorIs(t, s.Raise(t.Context(), key, pair[1], 1), lock.ErrTaken)
			s.release(t, key, pair[0])
			require.Equal(t, pair[0], s.look(t, key).Nonce)
			s.acquire(t, key, pair[1])
		}
	})
}

func TestKeysOfAnyBytes(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s store) {
		keys := []string{
			"\x00", "a\x00b", "{}", "{a}b", "}{", "\xff\xfe", " ", "\r\n", "*", "[a]?", "ключ", strings.Repeat("k", 64<<10),
		}
		fences := map[string]uint64{}
		for _, key := range keys {
			fences[key] = s.acquire(t, key, "me").Fence
		}
		for _, key := range keys {
			info := s.look(t, key)
			require.Equal(t, key, info.Key)
			require.Equal(t, fences[key], info.Fence)
			s.release(t, key, "me")
		}
	})
}

func TestForeignValueIsNotFree(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s store) {
		for key, value := range map[string]string{"token": "some token", "later": "2 held - 1 1 1 x", "empty": ""} {
			require.NoError(t, s.rdb.Set(t.Context(), prefix+key, value, ttl).Err())
			_, err := s.Acquire(t.Context(), request(key, "me"))
			require.Error(t, err)
			require.NotErrorIs(t, err, lock.ErrNotAcquired)
			after, _ := s.raw(t, key)
			require.Equal(t, value, after)
		}
		require.NoError(t, s.rdb.RPush(t.Context(), prefix+"list", "x").Err())
		require.NoError(t, s.rdb.Expire(t.Context(), prefix+"list", ttl).Err())
		_, err := s.Acquire(t.Context(), request("list", "me"))
		require.ErrorContains(t, err, "WRONGTYPE")
	})
}
