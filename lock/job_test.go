package lock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/lock"
)

func TestMinHoldKeepsTheKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		locker := newLocker(t, lock.Options{TTL: time.Second, Wait: lock.NoWait, MinHold: 5 * time.Second})
		require.NoError(t, locker.Do(t.Context(), "k", func(context.Context) error { return nil }))
		time.Sleep(4900 * time.Millisecond)
		_, err := locker.TryAcquire(t.Context(), "k")
		require.ErrorIs(t, err, lock.ErrNotAcquired)
		time.Sleep(time.Second)
		require.NoError(t, locker.With(lock.Options{MinHold: lock.NoMinHold}).Do(t.Context(), "k", func(context.Context) error { return nil }))
		lease, err := locker.TryAcquire(t.Context(), "k")
		require.NoError(t, err, "the other Locker had no MinHold")
		require.NoError(t, lease.Release(t.Context()))
	})
}

func TestSlotRunsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		locker := newLocker(t, lock.Options{TTL: time.Second})
		now := time.Now()
		slot := lock.Slot{Job: "report", Start: now, End: now.Add(time.Minute), ClockDifference: 2 * time.Second}
		try := func(err error) (bool, error) {
			return locker.TryDoSlot(t.Context(), slot, func(context.Context) error { return err })
		}
		ran, err := try(errCut)
		require.True(t, ran)
		require.ErrorIs(t, err, errCut)
		ran, err = try(nil)
		require.True(t, ran, "a failure frees the slot")
		require.NoError(t, err)
		for range 61 {
			ran, err = try(nil)
			require.False(t, ran, "success keeps it to its end and the clocks' difference")
			require.NoError(t, err)
			time.Sleep(time.Second)
		}
		time.Sleep(time.Second)
		ran, err = try(nil)
		require.False(t, ran)
		require.ErrorIs(t, err, lock.ErrSlotOver, "a worker that comes too late must not run it again")

		slot.Start, slot.End = slot.End, slot.End.Add(time.Minute)
		ran, err = try(nil)
		require.True(t, ran, "the next slot is another key")
		require.NoError(t, err)

		_, err = locker.TryDoSlot(t.Context(), lock.Slot{Job: "x", Start: now, End: now}, nil)
		require.ErrorIs(t, err, lock.ErrInvalid)
		_, err = locker.TryDoSlot(t.Context(), lock.Slot{Start: now, End: now.Add(1)}, nil)
		require.ErrorIs(t, err, lock.ErrInvalid)
	})
}

// cronJob is the shape of a scheduler's job.
type cronJob interface{ Run() }

type job func()

func (j job) Run() { j() }

func TestWrapJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		locker := newLocker(t, lock.Options{TTL: time.Second})
		var done []bool
		wrap := lock.WrapJob[cronJob](locker, "report", lock.JobOptions{
			Every: time.Minute,
			Done:  func(_ string, ran bool, err error) { require.NoError(t, err); done = append(done, ran) },
		})
		runs := 0
		j := wrap(job(func() { runs++ }))
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)))
		j.Run()
		j.Run()
		time.Sleep(time.Minute)
		j.Run()
		require.Equal(t, 2, runs)
		require.Equal(t, []bool{true, false, true}, done)
		time.Sleep(time.Minute)
		require.Panics(t, func() { wrap(job(func() { panic("x") })).Run() })
		require.Panics(t, func() { lock.WrapJob[cronJob](nil, "x", lock.JobOptions{}) })
	})
}
