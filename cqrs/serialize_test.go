package cqrs_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/cqrs"
	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/lock/memlock"
)

// newLocker returns a Locker in memory that ends with the test.
func newLocker(t *testing.T, o lock.Options) *lock.Locker {
	t.Helper()
	backend, err := memlock.New(memlock.Options{})
	require.NoError(t, err)
	locker, err := lock.New(backend, o)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(t, locker.Close(ctx))
	})
	return locker
}

func byCustomer(o Order) string { return o.Customer }

// TestSerialize: one command at a time for each key, each of them once, with the
// lease in the handler's context.
func TestSerialize(t *testing.T) {
	t.Parallel()
	var running, most atomic.Int64
	s := &shop{before: func(ctx context.Context, _ int64, _ Order) error {
		if lease, ok := lock.LeaseFrom(ctx); !ok || lease.Fence() == 0 {
			t.Error("no lease in the context")
		}
		if now := running.Add(1); now > most.Load() {
			most.Store(now)
		}
		time.Sleep(time.Millisecond) // so that two would meet
		running.Add(-1)
		return nil
	}}
	one := cqrs.Serialize(newLocker(t, lock.Options{Wait: time.Minute}), byCustomer, s.order)
	order, err := cqrs.Wrap(newGuard(t, idempotency.Options{}), "order.v1", one, cqrs.Options[Order]{Window: time.Hour, Wait: time.Minute})
	require.NoError(t, err)
	var wg sync.WaitGroup
	for i := range 20 {
		for range 2 {
			wg.Go(func() {
				if _, err := order(t.Context(), Order{Customer: "c", Amount: int64(i)}); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	require.EqualValues(t, 20, s.runs.Load())
	require.EqualValues(t, 1, most.Load())
}

// TestSerializeBusy: an aggregate that is busy frees the command, which runs
// when it is sent again.
func TestSerializeBusy(t *testing.T) {
	t.Parallel()
	locker := newLocker(t, lock.Options{Wait: lock.NoWait})
	s := &shop{}
	order, err := cqrs.Wrap(newGuard(t, idempotency.Options{}), "order.v1", cqrs.Serialize(locker, byCustomer, s.order), byRequest())
	require.NoError(t, err)
	lease, err := locker.TryAcquire(t.Context(), "c")
	require.NoError(t, err)
	_, err = order(t.Context(), Order{Request: "r", Customer: "c"})
	require.ErrorIs(t, err, lock.ErrNotAcquired)
	require.Zero(t, s.runs.Load())
	require.NoError(t, lease.Release(t.Context()))
	_, err = order(t.Context(), Order{Request: "r", Customer: "c"})
	require.NoError(t, err)

	_, err = order(t.Context(), Order{Request: "other"})
	require.ErrorIs(t, err, cqrs.ErrNoKey)
	require.Panics(t, func() { cqrs.Serialize[Order, Receipt](nil, byCustomer, s.order) })
}

// TestSerializeReentrant: a handler that sends a command for its own aggregate
// gets an error at once.
func TestSerializeReentrant(t *testing.T) {
	t.Parallel()
	var order cqrs.Handler[Order, Receipt]
	s := &shop{before: func(ctx context.Context, run int64, o Order) error {
		if run == 1 {
			_, err := order(ctx, o)
			return err
		}
		return nil
	}}
	order = cqrs.Serialize(newLocker(t, lock.Options{Wait: time.Hour}), byCustomer, s.order)
	_, err := order(t.Context(), Order{Customer: "c"})
	require.ErrorIs(t, err, lock.ErrReentrant)
	require.EqualValues(t, 1, s.runs.Load())
}

// TestSerializeLost: a lock that was lost while the handler ran costs a command
// that took effect neither its result nor its record.
func TestSerializeLost(t *testing.T) {
	t.Parallel()
	backend, err := memlock.New(memlock.Options{})
	require.NoError(t, err)
	locker, err := lock.New(backend, lock.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, locker.Close(context.Background())) })
	s := &shop{before: func(ctx context.Context, _ int64, _ Order) error {
		return backend.Break(ctx, "c") // as an operator does
	}}
	order, err := cqrs.Wrap(newGuard(t, idempotency.Options{}), "order.v1", cqrs.Serialize(locker, byCustomer, s.order), byRequest())
	require.NoError(t, err)
	for range 2 {
		r, err := order(t.Context(), Order{Request: "r", Customer: "c"})
		require.NoError(t, err)
		require.EqualValues(t, 1, r.Number)
	}
	require.EqualValues(t, 1, s.runs.Load())
}
