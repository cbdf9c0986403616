package lock_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/lock"
)

func TestDoReleasesHoweverItEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		locker := newLocker(t, lock.Options{TTL: time.Second, Wait: lock.NoWait})
		free := func() {
			t.Helper()
			lease, err := locker.TryAcquire(t.Context(), "k")
			require.NoError(t, err)
			require.NoError(t, lease.Release(t.Context()))
		}
		require.PanicsWithValue(t, "boom", func() {
			_ = locker.Do(t.Context(), "k", func(context.Context) error { panic("boom") })
		})
		free()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = locker.Do(t.Context(), "k", func(context.Context) error { runtime.Goexit(); return nil })
		}()
		<-done
		free()
		ctx, cancel := context.WithCancel(t.Context())
		err := locker.Do(ctx, "k", func(ctx context.Context) error {
			cancel()
			<-ctx.Done() // Do's context ends with the caller's
			return ctx.Err()
		})
		require.ErrorIs(t, err, context.Canceled)
		free()
	})
}

func TestDoIsNotReentrant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		locker := newLocker(t, lock.Options{})
		require.NoError(t, locker.Do(t.Context(), "a", func(ctx context.Context) error {
			return locker.Do(ctx, "b", func(ctx context.Context) error {
				require.ErrorIs(t, locker.Do(ctx, "a", nil), lock.ErrReentrant)
				require.ErrorIs(t, locker.With(lock.Options{TTL: time.Second}).Do(ctx, "b", nil), lock.ErrReentrant)
				_, err := locker.TryDo(ctx, "a", nil)
				require.ErrorIs(t, err, lock.ErrReentrant)
				lease, ok := lock.LeaseFrom(ctx)
				require.True(t, ok)
				require.Equal(t, "b", lease.Key())
				return nil
			})
		}))
	})
}

func TestTryDoTellsItsThreeEndsApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFault(t)
		locker := newLockerOn(t, f, lock.Options{TTL: time.Second})
		nothing := func(context.Context) error { return nil }
		ran, err := locker.TryDo(t.Context(), "k", func(ctx context.Context) error {
			ran, err := locker.TryDo(t.Context(), "k", nothing)
			require.False(t, ran)
			require.NoError(t, err)
			return errCut
		})
		require.True(t, ran)
		require.ErrorIs(t, err, errCut)
		f.set(on("acquire", always(errCut)), nil)
		ran, err = locker.TryDo(t.Context(), "k", nothing)
		require.False(t, ran)
		require.ErrorIs(t, err, lock.ErrUnavailable)
	})
}

func TestDoIsToldOfTheLoss(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFault(t)
		locker := newLockerOn(t, f, lock.Options{TTL: time.Second})
		err := locker.Do(t.Context(), "k", func(ctx context.Context) error {
			require.NoError(t, f.inner.Break(t.Context(), "k"))
			other, err := f.inner.Acquire(t.Context(), lock.Request{Key: "k", Nonce: "other", TTL: time.Minute, Block: 1})
			require.NoError(t, err)
			lease, _ := lock.LeaseFrom(ctx)
			require.Greater(t, other.Fence, lease.Fence())
			<-ctx.Done()
			require.ErrorIs(t, context.Cause(ctx), lock.ErrLost)
			require.ErrorIs(t, context.Cause(ctx), lock.ErrTaken)
			return nil
		})
		require.ErrorIs(t, err, lock.ErrTaken)
	})
}
