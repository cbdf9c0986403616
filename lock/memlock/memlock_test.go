package memlock_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/lock/memlock"
)

func newBackend(t testing.TB) *memlock.Backend {
	t.Helper()
	b, err := memlock.New(memlock.Options{})
	require.NoError(t, err)
	return b
}

func acquire(t testing.TB, b *memlock.Backend, key, nonce string, ttl time.Duration) lock.Grant {
	t.Helper()
	g, err := b.Acquire(t.Context(), lock.Request{Key: key, Nonce: nonce, TTL: ttl, Block: 1})
	require.NoError(t, err)
	return g
}

// count returns how many keys are not absent.
func count(t testing.TB, b *memlock.Backend) int {
	t.Helper()
	n := 0
	for _, err := range b.List(t.Context()) {
		require.NoError(t, err)
		n++
	}
	return n
}

// A lease lasts for its TTL to the nanosecond, and not longer.
func TestExpiryIsExact(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBackend(t)
		ttl := time.Second + 1
		acquire(t, b, "key", "a", ttl)
		time.Sleep(time.Second)
		_, err := b.Acquire(t.Context(), lock.Request{Key: "key", Nonce: "b", TTL: ttl, Block: 1})
		require.ErrorIs(t, err, lock.ErrNotAcquired)
		var held *lock.HeldError
		require.ErrorAs(t, err, &held)
		require.Equal(t, time.Duration(1), held.Remaining)
		require.Equal(t, "key", held.Key)
		time.Sleep(time.Nanosecond)
		acquire(t, b, "key", "b", ttl)
	})
}

// The first fence is the time in microseconds: it goes on rising when the
// process, and with it all that was stored, is gone.
func TestFenceIsTheTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBackend(t)
		require.EqualValues(t, time.Now().UnixMicro(), acquire(t, b, "key", "a", time.Second).Fence)
		time.Sleep(time.Minute + 3*time.Microsecond)
		require.EqualValues(t, time.Now().UnixMicro(), acquire(t, b, "key", "b", time.Second).Fence)
		require.EqualValues(t, time.Now().UnixMicro(), acquire(t, newBackend(t), "key", "a", time.Second).Fence)
	})
}

// Fences do not wrap: a key that was raised to the last one is granted to
// nobody until it is forgotten.
func TestFencesRunOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBackend(t)
		acquire(t, b, "key", "a", time.Second)
		require.NoError(t, b.Raise(t.Context(), "key", "a", math.MaxUint64-2))
		g, err := b.Extend(t.Context(), lock.Request{Key: "key", Nonce: "a", TTL: time.Second, Block: 2})
		require.NoError(t, err)
		require.EqualValues(t, uint64(math.MaxUint64-1), g.Fence)
		_, err = b.Extend(t.Context(), lock.Request{Key: "key", Nonce: "a", TTL: time.Minute, Block: 1})
		require.Error(t, err)
		require.NotErrorIs(t, err, lock.ErrLost)
		require.NoError(t, b.Release(t.Context(), lock.ReleaseRequest{Key: "key", Nonce: "a", TTL: time.Second}))
		_, err = b.Acquire(t.Context(), lock.Request{Key: "key", Nonce: "b", TTL: time.Second, Block: 1})
		require.Error(t, err)
		require.NotErrorIs(t, err, lock.ErrNotAcquired)
		time.Sleep(time.Second)
		acquire(t, b, "key", "b", time.Second)
	})
}

// A context that has ended means that nothing is done.
func TestDeadContextDoesNothing(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	acquire(t, b, "held", "a", time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.Acquire(ctx, lock.Request{Key: "key", Nonce: "a", TTL: time.Minute, Block: 1})
	require.ErrorIs(t, err, context.Canceled)
	_, err = b.Extend(ctx, lock.Request{Key: "held", Nonce: "a", TTL: time.Hour})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, b.Release(ctx, lock.ReleaseRequest{Key: "held", Nonce: "a", TTL: time.Minute}), context.Canceled)
	_, err = b.Look(ctx, "held")
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, b.Break(ctx, "held"), context.Canceled)
	require.ErrorIs(t, b.Raise(ctx, "held", "a", 1), context.Canceled)
	for _, err := range b.List(ctx) {
		require.ErrorIs(t, err, context.Canceled)
	}
	require.Equal(t, 1, count(t, b))
	info, err := b.Look(t.Context(), "held")
	require.NoError(t, err)
	require.Equal(t, lock.StateHeld, info.State)
	require.LessOrEqual(t, info.Remaining, time.Minute)
}

func TestInspectorRefusesTheEmptyKey(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	_, err := b.Look(t.Context(), "")
	require.ErrorIs(t, err, lock.ErrInvalid)
	require.ErrorIs(t, b.Break(t.Context(), ""), lock.ErrInvalid)
	require.ErrorIs(t, b.Raise(t.Context(), "", "a", 1), lock.ErrInvalid)
	require.NoError(t, b.Break(t.Context(), "absent"))
}

// Keys that have ended give their memory back as others come and go, without a
// goroutine that would have to be stopped.
func TestDeadKeysGiveTheirMemoryBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const dead, live = 50_000, 100
		heap := func() uint64 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		b, ctx := newBackend(t), t.Context()
		turn := func(key string, ttl time.Duration) {
			_, err := b.Acquire(ctx, lock.Request{Key: key, Nonce: "a", TTL: ttl, Block: 1})
			if err == nil {
				err = b.Release(ctx, lock.ReleaseRequest{Key: key, Nonce: "a", TTL: ttl})
			}
			if err != nil {
				t.Error(err)
			}
		}
		before := heap()
		for i := range dead {
			turn(strconv.Itoa(i), time.Second)
		}
		full := heap() - before
		require.Equal(t, dead, count(t, b))
		time.Sleep(time.Second)
		// Fewer turns than there are dead keys, all of them on other keys.
		for i := range dead / 2 {
			turn(fmt.Sprint("live", i%live, i/live), 10*time.Second)
			if i%live == live-1 {
				time.Sleep(10 * time.Second)
			}
		}
		require.Less(t, int64(heap()-before), int64(full/20), "%d bytes were in use", full)
		require.LessOrEqual(t, count(t, b), live)
	})
}

// A listener may be opened, used and closed from many goroutines while keys
// come and go; none is told anything after its Close has returned.
func TestListenersUnderLoad(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	var running sync.WaitGroup
	for i := range 8 {
		running.Go(func() {
			for j := range 50 {
				var mu sync.Mutex
				closed := false
				l := b.Listen(func(key string) {
					mu.Lock()
					defer mu.Unlock()
					if closed {
						t.Errorf("told of %q after Close", key)
					}
				})
				for k := range 10 {
					l.Watch("key" + strconv.Itoa(k))
				}
				l.Unwatch("key3")
				key, nonce := "key"+strconv.Itoa(j%10), fmt.Sprint(i, "-", j)
				if _, err := b.Acquire(t.Context(), lock.Request{Key: key, Nonce: nonce, TTL: time.Minute, Block: 1, Waiting: true}); err == nil {
					_, _ = b.Acquire(t.Context(), lock.Request{Key: key, Nonce: "other", TTL: time.Minute, Block: 1, Waiting: true})
					if err := b.Release(t.Context(), lock.ReleaseRequest{Key: key, Nonce: nonce, TTL: time.Minute}); err != nil {
						t.Errorf("release: %v", err)
					}
				}
				if err := l.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
				mu.Lock()
				closed = true
				mu.Unlock()
				l.Watch("key") // does nothing
				_ = l.Close()
			}
		})
	}
	running.Wait()
}
