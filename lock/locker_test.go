package lock_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/lock/memlock"
)

// newLocker returns a Locker on a fresh memory backend, closed at the end.
func newLocker(t *testing.T, o lock.Options) *lock.Locker {
	t.Helper()
	backend, err := memlock.New(memlock.Options{})
	require.NoError(t, err)
	return newLockerOn(t, backend, o)
}

func newLockerOn(t *testing.T, backend lock.Backend, o lock.Options) *lock.Locker {
	t.Helper()
	locker, err := lock.New(backend, o)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, locker.Close(ctx))
	})
	return locker
}

func TestLockerAcquireRelease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		locker := newLocker(t, lock.Options{TTL: time.Second, Wait: time.Second})
		lease, err := locker.Acquire(t.Context(), "k")
		require.NoError(t, err)
		require.True(t, lease.Valid())
		_, err = locker.TryAcquire(t.Context(), "k")
		var held *lock.HeldError
		require.ErrorAs(t, err, &held)
		require.Positive(t, held.Remaining)

		start := time.Now()
		_, err = locker.Acquire(t.Context(), "k")
		require.ErrorIs(t, err, lock.ErrNotAcquired)
		require.Equal(t, time.Second, time.Since(start))

		time.Sleep(10 * time.Second) // renewed all the while
		require.True(t, lease.Valid())
		require.NoError(t, lease.Context().Err())

		require.NoError(t, lease.Release(t.Context()))
		require.NoError(t, lease.Release(t.Context()))
		require.ErrorIs(t, context.Cause(lease.Context()), lock.ErrReleased)
		again, err := locker.TryAcquire(t.Context(), "k")
		require.NoError(t, err)
		require.Greater(t, again.Fence(), lease.Fence())
		require.NoError(t, again.Release(t.Context()))
	})
}

func TestLockerHandOver(t *testing.T) {
	t.Parallel()
	locker := newLocker(t, lock.Options{TTL: time.Second, Wait: lock.WaitForever})
	var inside atomic.Int32
	var last uint64
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for range 200 {
				err := locker.Do(t.Context(), "k", func(ctx context.Context) error {
					lease, _ := lock.LeaseFrom(ctx)
					if inside.Add(1) != 1 {
						return errors.New("two inside")
					}
					if lease.Fence() <= last {
						return errors.New("fence went back")
					}
					last = lease.Fence()
					inside.Add(-1)
					return nil
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}
