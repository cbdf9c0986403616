package cqrs_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/cqrs"
	"github.com/semel-go/semel/idempotency"
)

func TestDuplicateGetsTheResult(t *testing.T) {
	t.Parallel()
	s := &shop{}
	order := s.wrap(t, newGuard(t, idempotency.Options{}), byRequest())
	first, err := order(t.Context(), Order{Request: "r1", Customer: "c1"})
	require.NoError(t, err)
	again, err := order.Handle(t.Context(), Order{Request: "r1", Customer: "c1"})
	require.NoError(t, err)
	require.Equal(t, first, again)
	other, err := order(t.Context(), Order{Request: "r2", Customer: "c1"})
	require.NoError(t, err)
	require.EqualValues(t, 2, other.Number)
	require.EqualValues(t, 2, s.runs.Load())
}

// TestResultSurvives: what a duplicate gets is what the first one got, to the
// last bit.
func TestResultSurvives(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Receipt{
		"zero":       {},
		"above 2^53": {Number: 1<<53 + 1},
		"smallest":   {Number: math.MinInt64},
		"nested":     {Lines: map[string]map[string]int64{"a": {"x": math.MaxInt64}, "": {}}},
		"time":       {At: time.Date(2026, 3, 29, 1, 30, 0, 123456789, time.UTC)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			handle := func(context.Context, Order) (Receipt, error) { return want, nil }
			e, err := cqrs.NewExecutor(newGuard(t, idempotency.Options{}), "order.v1", handle, byRequest())
			require.NoError(t, err)
			first, err := e.Do(t.Context(), Order{Request: "r"})
			require.NoError(t, err)
			require.False(t, first.Replayed)
			second, err := e.Do(t.Context(), Order{Request: "r"})
			require.NoError(t, err)
			require.True(t, second.Replayed)
			require.Equal(t, want, first.Value)
			require.Equal(t, want, second.Value)
			require.Equal(t, first.CompletedAt, second.CompletedAt)
			require.Equal(t, first.Key, second.Key)
			require.NotZero(t, first.CompletedAt)
		})
	}
}

// TestErrors is the table of the package's page.
func TestErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ends  func() error // of the first run
		first func(t *testing.T, err error)
		runs  int64
		again func(t *testing.T, err error)
	}{
		"ordinary error": {
			ends:  func() error { return errShop },
			first: func(t *testing.T, err error) { require.Equal(t, errShop, err) },
			runs:  2,
			again: func(t *testing.T, err error) { require.NoError(t, err) },
		},
		"final": {
			ends: func() error { return idempotency.Final(errShop) },
			first: func(t *testing.T, err error) {
				require.ErrorIs(t, err, errShop)
				_, replayed := errors.AsType[*cqrs.ReplayedError](err)
				require.False(t, replayed)
			},
			runs: 1,
			again: func(t *testing.T, err error) {
				replayed, ok := errors.AsType[*cqrs.ReplayedError](err)
				require.True(t, ok)
				require.Equal(t, "order.v1", replayed.Name)
				require.NotZero(t, replayed.CompletedAt)
				require.Equal(t, errShop.Error(), err.Error())
				_, final := errors.AsType[*idempotency.FinalError](err)
				require.True(t, final)
			},
		},
		"unknown": {
			ends:  func() error { return idempotency.Unknown(errShop) },
			first: func(t *testing.T, err error) { require.ErrorIs(t, err, errShop) },
			runs:  1,
			again: func(t *testing.T, err error) { require.ErrorIs(t, err, idempotency.ErrOutcomeUnknown) },
		},
		"retry after": {
			ends:  func() error { return idempotency.RetryAfter(time.Minute, errShop) },
			first: func(t *testing.T, err error) { require.ErrorIs(t, err, errShop) },
			runs:  1,
			again: func(t *testing.T, err error) {
				busy, ok := errors.AsType[*idempotency.InProgressError](err)
				require.True(t, ok)
				require.Positive(t, busy.RetryAfter)
			},
		},
		"panic": {
			ends:  func() error { panic(errShop) },
			first: func(t *testing.T, err error) { require.EqualError(t, err, "panicked: out of stock") },
			runs:  2,
			again: func(t *testing.T, err error) { require.NoError(t, err) },
		},
		"Goexit": {
			ends:  func() error { runtime.Goexit(); return nil },
			first: func(t *testing.T, err error) { require.EqualError(t, err, "no return") },
			runs:  2,
			again: func(t *testing.T, err error) { require.NoError(t, err) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &shop{before: func(_ context.Context, run int64, _ Order) error {
				if run == 1 {
					return c.ends()
				}
				return nil
			}}
			order := s.wrap(t, newGuard(t, idempotency.Options{}), byRequest())
			c.first(t, apart(func() error {
				_, err := order(t.Context(), Order{Request: "r"})
				return err
			}))
			_, err := order(t.Context(), Order{Request: "r"})
			c.again(t, err)
			require.Equal(t, c.runs, s.runs.Load())
		})
	}
}

// apart calls f on a goroutine of its own and tells how that ended.
func apart(f func() error) (err error) {
	var wg sync.WaitGroup
	wg.Go(func() {
		err = errors.New("no return")
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panicked: %v", p)
			}
		}()
		err = f()
	})
	wg.Wait()
	return err
}

// TestMismatch: one key for two contents is told with the first one's times,
// and fields that are outside the hash do not count.
func TestMismatch(t *testing.T) {
	t.Parallel()
	s := &shop{}
	order := s.wrap(t, newGuard(t, idempotency.Options{}), byRequest())
	before := time.Now().Add(-time.Second)
	_, err := order(t.Context(), Order{Request: "r", Customer: "c", Amount: 1})
	require.NoError(t, err)
	_, err = order(t.Context(), Order{Request: "r", Customer: "c", Amount: 2})
	require.ErrorIs(t, err, idempotency.ErrMismatch)
	mismatch, ok := errors.AsType[*idempotency.MismatchError](err)
	require.True(t, ok)
	require.Equal(t, idempotency.StateCompleted, mismatch.State)
	require.True(t, mismatch.ClaimedAt.After(before) && !mismatch.CompletedAt.Before(mismatch.ClaimedAt), mismatch)
	require.EqualValues(t, 1, s.runs.Load())
}

// TestWindow: commands that say the same are one within the window, and two
// outside it.
func TestWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &shop{}
		order := s.wrap(t, newGuard(t, idempotency.Options{}), cqrs.Options[Order]{Window: time.Hour})
		send := func(request string) int64 {
			r, err := order(t.Context(), Order{Request: request, Customer: "c", Amount: 5})
			require.NoError(t, err)
			return r.Number
		}
		require.EqualValues(t, 1, send("r1"))
		time.Sleep(time.Hour - time.Second)
		require.EqualValues(t, 1, send("r2"), "its request is outside the hash")
		time.Sleep(2 * time.Second)
		require.EqualValues(t, 2, send("r3"))
	})
}

// TestInProgress: without Wait there is one result, and 99 who are told that it
// is under way; with it there are 100 equal ones.
func TestInProgress(t *testing.T) {
	t.Parallel()
	for _, wait := range []time.Duration{0, time.Minute} {
		t.Run(wait.String(), func(t *testing.T) {
			t.Parallel()
			const callers = 100
			asked := make(chan struct{}, callers)
			s := &shop{before: func(context.Context, int64, Order) error {
				if wait == 0 { // until all others have their answer
					for range callers - 1 {
						<-asked
					}
				}
				return nil
			}}
			order := s.wrap(t, newGuard(t, idempotency.Options{}), cqrs.Options[Order]{Window: time.Hour, Wait: wait})
			var wg sync.WaitGroup
			results := make([]Receipt, callers)
			errs := make([]error, callers)
			for i := range callers {
				wg.Go(func() {
					results[i], errs[i] = order(t.Context(), Order{Customer: "c"})
					asked <- struct{}{}
				})
			}
			wg.Wait()
			require.EqualValues(t, 1, s.runs.Load())
			busy := 0
			for i, err := range errs {
				if err != nil {
					require.ErrorIs(t, err, idempotency.ErrInProgress)
					busy++
					continue
				}
				require.EqualValues(t, 1, results[i].Number)
			}
			if wait == 0 {
				require.Equal(t, callers-1, busy)
			} else {
				require.Zero(t, busy)
			}
		})
	}
}

// TestReentrant: a command that is sent from its own handler is an error, at
// once, and not a deadlock.
func TestReentrant(t *testing.T) {
	t.Parallel()
	var order cqrs.Handler[Order, Receipt]
	s := &shop{before: func(ctx context.Context, run int64, o Order) error {
		if run == 1 {
			_, err := order(ctx, o)
			return err
		}
		return nil
	}}
	order = s.wrap(t, newGuard(t, idempotency.Options{}), cqrs.Options[Order]{Window: time.Hour, Wait: time.Hour})
	_, err := order(t.Context(), Order{})
	require.ErrorIs(t, err, idempotency.ErrReentrant)
	_, err = order(t.Context(), Order{})
	require.NoError(t, err, "the failure has freed it")
}

// TestReject: duplicates are refused, those of a failure and those without a
// result included.
func TestReject(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]struct {
		end error
		max int
	}{
		"success":           {},
		"final":             {end: idempotency.Final(errShop)},
		"result not kept":   {max: idempotency.NoResults},
		"result kept apart": {max: 1 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &shop{before: func(context.Context, int64, Order) error { return o.end }}
			options := byRequest()
			options.OnDuplicate, options.MaxResult = cqrs.Reject, o.max
			order := s.wrap(t, newGuard(t, idempotency.Options{}), options)
			_, err := order(t.Context(), Order{Request: "r"})
			require.Equal(t, o.end, err)
			_, err = order(t.Context(), Order{Request: "r"})
			require.ErrorIs(t, err, cqrs.ErrDuplicate)
			duplicate, ok := errors.AsType[*cqrs.DuplicateError](err)
			require.True(t, ok)
			require.NotZero(t, duplicate.CompletedAt)
			require.EqualValues(t, 1, s.runs.Load())
		})
	}
}

// TestPointer: the pointer to a command is the command.
func TestPointer(t *testing.T) {
	t.Parallel()
	guard := newGuard(t, idempotency.Options{})
	s := &shop{}
	byValue := s.wrap(t, guard, cqrs.Options[Order]{Window: time.Hour})
	byPointer, err := cqrs.Wrap(guard, "order.v1", func(ctx context.Context, o *Order) (Receipt, error) {
		return s.order(ctx, *o)
	}, cqrs.Options[*Order]{Window: time.Hour})
	require.NoError(t, err)
	first, err := byValue(t.Context(), Order{Customer: "c"})
	require.NoError(t, err)
	second, err := byPointer(t.Context(), &Order{Customer: "c"})
	require.NoError(t, err)
	require.Equal(t, first, second)
	_, err = byPointer(t.Context(), nil)
	require.ErrorIs(t, err, cqrs.ErrCommand)
	require.EqualValues(t, 1, s.runs.Load())
}

// TestChain: middlewares around a handler run only where it runs, the first of
// them outermost.
func TestChain(t *testing.T) {
	t.Parallel()
	var trace []string
	traced := func(name string) cqrs.Middleware[Order, Receipt] {
		return func(next cqrs.Handler[Order, Receipt]) cqrs.Handler[Order, Receipt] {
			return func(ctx context.Context, o Order) (Receipt, error) {
				trace = append(trace, name)
				return next(ctx, o)
			}
		}
	}
	s := &shop{}
	order, err := cqrs.Wrap(newGuard(t, idempotency.Options{}), "order.v1", cqrs.Chain(s.order, traced("a"), traced("b")), byRequest())
	require.NoError(t, err)
	for range 2 {
		_, err = order(t.Context(), Order{Request: "r"})
		require.NoError(t, err)
	}
	require.Equal(t, []string{"a", "b"}, trace)
}
