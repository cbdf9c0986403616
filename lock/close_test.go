package lock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/lock"
)

func TestCloseWaitsForLeasesAndRefusesOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFault(t)
		locker, err := lock.New(f, lock.Options{TTL: time.Second, Wait: lock.WaitForever})
		require.NoError(t, err)
		lease, err := locker.Acquire(t.Context(), "k")
		require.NoError(t, err)
		waiting := make(chan error, 1)
		go func() { _, err := locker.Acquire(t.Context(), "k"); waiting <- err }()
		synctest.Wait()
		closed := make(chan error, 1)
		go func() { closed <- locker.Close(t.Context()) }()
		synctest.Wait()
		require.ErrorIs(t, <-waiting, lock.ErrClosed)
		_, err = locker.Acquire(t.Context(), "other")
		require.ErrorIs(t, err, lock.ErrClosed)
		time.Sleep(10 * time.Second)
		require.True(t, lease.Valid(), "renewed while Close waits for it")
		require.NoError(t, lease.Release(t.Context()))
		require.NoError(t, <-closed)
		require.NoError(t, locker.Close(t.Context()))
	})
}

func TestCloseCutShortEndsTheLeases(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFault(t)
		locker, err := lock.New(f, lock.Options{TTL: time.Second})
		require.NoError(t, err)
		lease, err := locker.Acquire(t.Context(), "k")
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		require.ErrorIs(t, locker.Close(ctx), context.DeadlineExceeded)
		require.ErrorIs(t, context.Cause(lease.Context()), lock.ErrClosed)
		require.False(t, lease.Valid())
		require.ErrorIs(t, lease.Release(t.Context()), lock.ErrClosed)
		n := f.count("extend")
		time.Sleep(10 * time.Second)
		require.Equal(t, n, f.count("extend"))
	})
}

func TestCloseWaitsForWhatIsUndone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFault(t)
		locker, err := lock.New(f, lock.Options{TTL: 10 * time.Second})
		require.NoError(t, err)
		f.set(on("acquire", func() error { time.Sleep(2 * time.Second); return nil }), nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = locker.Acquire(ctx, "k")
		require.ErrorIs(t, err, lock.ErrUnavailable)
		require.NoError(t, locker.Close(t.Context()))
		info, err := f.inner.Look(t.Context(), "k")
		require.NoError(t, err)
		require.Equal(t, lock.StateFree, info.State)
	})
}
