package lock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/lock"
)

func TestAcquireReplyLostIsUndone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFault(t)
		locker := newLockerOn(t, f, lock.Options{TTL: 10 * time.Second, Wait: lock.NoWait})
		f.set(nil, on("acquire", once(errCut)))
		_, err := locker.Acquire(t.Context(), "k")
		require.ErrorIs(t, err, lock.ErrUnavailable)
		require.ErrorIs(t, err, errCut)
		require.NotErrorIs(t, err, lock.ErrNotAcquired)
		synctest.Wait()
		info, err := f.inner.Look(t.Context(), "k")
		require.NoError(t, err)
		require.Equal(t, lock.StateFree, info.State, "the lost grant was given back")
	})
}

func TestAcquireReplyLostWaiterGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFault(t)
		locker := newLockerOn(t, f, lock.Options{TTL: 10 * time.Second, Wait: 5 * time.Second})
		f.set(nil, on("acquire", once(errCut)))
		start := time.Now()
		lease, err := locker.Acquire(t.Context(), "k")
		require.NoError(t, err)
		require.Less(t, time.Since(start), time.Second, "the lost grant did not block its own process for a TTL")
		require.NoError(t, lease.Release(t.Context()))
	})
}

func TestAcquireCutByContextReturnsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFault(t)
		locker := newLockerOn(t, f, lock.Options{TTL: 10 * time.Second, Wait: 5 * time.Second})
		f.set(on("acquire", func() error { time.Sleep(200 * time.Millisecond); return nil }), nil)
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Millisecond)
		defer cancel()
		start := time.Now()
		_, err := locker.Acquire(ctx, "k")
		require.Equal(t, 25*time.Millisecond, time.Since(start))
		require.ErrorIs(t, err, lock.ErrUnavailable)
		require.ErrorIs(t, err, context.DeadlineExceeded)

		f.set(nil, nil)
		time.Sleep(time.Second) // the call returns, and is undone
		info, err := f.inner.Look(t.Context(), "k")
		require.NoError(t, err)
		require.Equal(t, lock.StateFree, info.State)
		require.Equal(t, 1, f.count("compensate"))
	})
}

func TestStoreHangsIsUnavailable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFault(t)
		locker := newLockerOn(t, f, lock.Options{TTL: 10 * time.Second, Timeout: time.Second, Wait: 3 * time.Second})
		f.set(func(string, string) error { time.Sleep(time.Hour); return errCut }, nil)
		start := time.Now()
		_, err := locker.TryAcquire(t.Context(), "k")
		require.ErrorIs(t, err, lock.ErrUnavailable)
		require.NotErrorIs(t, err, context.DeadlineExceeded, "the caller's context has not ended")
		require.Equal(t, time.Second, time.Since(start))

		start = time.Now()
		_, err = locker.Acquire(t.Context(), "k")
		require.ErrorIs(t, err, lock.ErrUnavailable)
		require.NotErrorIs(t, err, lock.ErrNotAcquired)
		require.LessOrEqual(t, time.Since(start), 3*time.Second)
		f.set(nil, nil)
		time.Sleep(2 * time.Hour) // until the calls that were left behind return
	})
}

func TestOutageIsNotFollowedByAStorm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFault(t)
		locker := newLockerOn(t, f, lock.Options{TTL: 10 * time.Second, Wait: lock.NoWait})
		f.set(func(string, string) error { return errCut }, nil)
		for i := range 5000 {
			_, err := locker.Acquire(t.Context(), "k"+itoa(i))
			require.ErrorIs(t, err, lock.ErrUnavailable)
		}
		before := f.count("compensate")
		time.Sleep(5 * time.Second)
		require.Less(t, f.count("compensate")-before, 200, "requests during an outage")
		f.set(nil, nil)
		time.Sleep(time.Minute)
	})
}

func TestContextEndsThoughRenewalHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFault(t)
		locker := newLockerOn(t, f, lock.Options{TTL: 3 * time.Second, Margin: 100 * time.Millisecond})
		start := time.Now()
		lease, err := locker.Acquire(t.Context(), "k")
		require.NoError(t, err)
		f.set(on("extend", func() error { time.Sleep(time.Hour); return errCut }), nil)
		<-lease.Context().Done()
		require.Equal(t, 2900*time.Millisecond, time.Since(start))
		require.ErrorIs(t, context.Cause(lease.Context()), lock.ErrLost)
		require.False(t, lease.Valid())
		f.set(nil, nil)
		require.Error(t, lease.Extend(t.Context(), time.Second))
		_ = lease.Release(t.Context())
		time.Sleep(2 * time.Hour)
	})
}

func TestLostRenewalReplyDoesNotLoseTheLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFault(t)
		locker := newLockerOn(t, f, lock.Options{TTL: 3 * time.Second})
		lease, err := locker.Acquire(t.Context(), "k")
		require.NoError(t, err)
		f.set(nil, on("extend", once(errCut)))
		time.Sleep(30 * time.Second)
		require.True(t, lease.Valid())
		require.NoError(t, lease.Context().Err())
		require.NoError(t, lease.Release(t.Context()))
	})
}

func TestWindowCountsFromTheSend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFault(t)
		locker := newLockerOn(t, f, lock.Options{TTL: 3 * time.Second, Margin: 100 * time.Millisecond, Timeout: 3 * time.Second, NoRenew: true})
		f.set(on("acquire", func() error { time.Sleep(2 * time.Second); return nil }), nil)
		start := time.Now()
		lease, err := locker.Acquire(t.Context(), "k")
		require.NoError(t, err)
		<-lease.Context().Done()
		require.Equal(t, 2900*time.Millisecond, time.Since(start))
		_ = lease.Release(t.Context())
	})
}

func TestReleaseReplyLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFault(t)
		locker := newLockerOn(t, f, lock.Options{TTL: 3 * time.Second})
		lease, err := locker.Acquire(t.Context(), "k")
		require.NoError(t, err)
		f.set(nil, on("release", once(errCut)))
		require.ErrorIs(t, lease.Release(t.Context()), lock.ErrUnavailable)
		require.NoError(t, lease.Release(t.Context()), "its own spent nonce is its own release")
	})
}

func TestReleaseFindsItsOwnEarlierCopy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFault(t)
		locker := newLockerOn(t, f, lock.Options{TTL: 3 * time.Second})
		lease, err := locker.Acquire(t.Context(), "k")
		require.NoError(t, err)
		f.set(on("release", always(lock.ErrTaken)), nil)
		require.NoError(t, lease.Release(t.Context()), "began inside the window")
		require.NoError(t, lease.Release(t.Context()))
	})
}

func TestReleaseAfterTheWindowTellsTheTruth(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFault(t)
		locker := newLockerOn(t, f, lock.Options{TTL: time.Second, NoRenew: true})
		lease, err := locker.Acquire(t.Context(), "k")
		require.NoError(t, err)
		time.Sleep(2 * time.Second)
		other, err := locker.TryAcquire(t.Context(), "k")
		require.NoError(t, err)
		require.ErrorIs(t, lease.Release(t.Context()), lock.ErrTaken)
		require.ErrorIs(t, lease.Release(t.Context()), lock.ErrLost, "the same answer again")
		require.True(t, other.Valid())
		require.NoError(t, other.Release(t.Context()))
	})
}

func TestDoRanButNotReleasedIsNotUnavailable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFault(t)
		locker := newLockerOn(t, f, lock.Options{TTL: time.Second})
		f.set(on("release", always(errCut)), nil)
		own := errors.New("own")
		err := locker.Do(t.Context(), "k", func(context.Context) error { return own })
		require.ErrorIs(t, err, own)
		require.NotErrorIs(t, err, lock.ErrUnavailable, "who sees ErrUnavailable believes that nothing ran")
		var left *lock.ReleaseError
		require.ErrorAs(t, err, &left)
		require.ErrorIs(t, left.Err, lock.ErrUnavailable)
	})
}
