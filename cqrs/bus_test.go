package cqrs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/cqrs"
	"github.com/semel-go/semel/idempotency"
)

// Cancel is a second command.
type Cancel struct {
	cqrs.Returns[struct{}]
	Order string
}

// newBus returns a Bus on a guard in memory.
func newBus(t *testing.T, o cqrs.BusOptions) *cqrs.Bus {
	t.Helper()
	bus, err := cqrs.NewBus(newGuard(t, idempotency.Options{}), o)
	require.NoError(t, err)
	return bus
}

func TestSend(t *testing.T) {
	t.Parallel()
	bus := newBus(t, cqrs.BusOptions{})
	s := &shop{}
	require.NoError(t, cqrs.Register(bus, "order.v1", s.order, byRequest()))
	require.NoError(t, cqrs.Register(bus, "cancel.v1", nothing[Cancel], cqrs.Options[Cancel]{Window: time.Hour}))

	var receipt Receipt // that the types fit is half of the test
	receipt, err := cqrs.Send(t.Context(), bus, Order{Request: "r", Customer: "c"})
	require.NoError(t, err)
	require.Equal(t, Receipt{Number: 1, Customer: "c"}, receipt)
	out, err := cqrs.Do(t.Context(), bus, &Order{Request: "r", Customer: "c"})
	require.NoError(t, err)
	require.True(t, out.Replayed)
	require.Equal(t, receipt, out.Value)
	require.Equal(t, "r", out.Key.ID)
	_, err = cqrs.Send(t.Context(), bus, Cancel{Order: "o"})
	require.NoError(t, err)
	require.EqualValues(t, 1, s.runs.Load())

	_, err = cqrs.Send(t.Context(), bus, (*Order)(nil))
	require.ErrorIs(t, err, cqrs.ErrCommand)
	type Unheard struct{ cqrs.Returns[int] }
	_, err = cqrs.Send(t.Context(), bus, Unheard{})
	require.ErrorIs(t, err, cqrs.ErrNotRegistered)
	require.ErrorContains(t, err, "Unheard")
}

// TestRegisteredAsPointer: a handler of pointers handles values, too.
func TestRegisteredAsPointer(t *testing.T) {
	t.Parallel()
	bus := newBus(t, cqrs.BusOptions{})
	s := &shop{}
	byPointer := func(ctx context.Context, o *Order) (Receipt, error) { return s.order(ctx, *o) }
	require.NoError(t, cqrs.Register(bus, "order.v1", byPointer, cqrs.Options[*Order]{Window: time.Hour}))
	first, err := cqrs.Send(t.Context(), bus, Order{Customer: "c"})
	require.NoError(t, err)
	second, err := cqrs.Send(t.Context(), bus, &Order{Customer: "c"})
	require.NoError(t, err)
	require.Equal(t, first, second)
	require.EqualValues(t, 1, s.runs.Load())
	_, err = cqrs.Send(t.Context(), bus, (*Order)(nil))
	require.ErrorIs(t, err, cqrs.ErrCommand)
}

func TestRegisterInvalid(t *testing.T) {
	t.Parallel()
	bus := newBus(t, cqrs.BusOptions{})
	s := &shop{}
	require.ErrorIs(t, cqrs.Register(bus, "order.v1", s.order, cqrs.Options[Order]{}), cqrs.ErrInvalid)
	require.NoError(t, cqrs.Register(bus, "order.v1", s.order, byRequest()), "a registration that failed leaves nothing behind")
	require.ErrorIs(t, cqrs.Register(bus, "order.v2", s.order, byRequest()), cqrs.ErrInvalid, "the type is taken")
	require.ErrorIs(t, cqrs.Register(bus, "order.v1", nothing[Cancel], cqrs.Options[Cancel]{Window: time.Hour}), cqrs.ErrInvalid, "the name is taken")
	require.ErrorIs(t, cqrs.Register(nil, "order.v3", s.order, byRequest()), cqrs.ErrInvalid)
	require.ErrorIs(t, cqrs.Register[struct{}, Cancel](bus, "cancel.v1", nil, cqrs.Options[Cancel]{Window: time.Hour}), cqrs.ErrInvalid)

	_, err := cqrs.NewBus(nil, cqrs.BusOptions{})
	require.ErrorIs(t, err, cqrs.ErrInvalid)
	_, err = cqrs.NewBus(newGuard(t, idempotency.Options{}), cqrs.BusOptions{Lease: time.Nanosecond})
	require.ErrorIs(t, err, cqrs.ErrInvalid)
	_, err = cqrs.NewBus(newGuard(t, idempotency.Options{}), cqrs.BusOptions{Secret: []byte{}})
	require.ErrorIs(t, err, cqrs.ErrInvalid)

	require.Panics(t, func() { bus.Use(func(next cqrs.BusHandler) cqrs.BusHandler { return next }) }, "after Register")
	require.Panics(t, func() { bus.Within(func(next cqrs.BusHandler) cqrs.BusHandler { return next }) })
	require.Panics(t, func() { newBus(t, cqrs.BusOptions{}).Use(nil) })
}

// TestUse: what is around a command sees each one; what is within, each run.
func TestUse(t *testing.T) {
	t.Parallel()
	bus := newBus(t, cqrs.BusOptions{})
	var trace []string
	traced := func(where string) cqrs.BusMiddleware {
		return func(next cqrs.BusHandler) cqrs.BusHandler {
			return func(ctx context.Context, i *cqrs.Invocation) error {
				require.Equal(t, Order{Request: "r"}, i.Command())
				err := next(ctx, i)
				line := where + " " + i.Name()
				if i.Replayed() {
					line += " replayed"
				}
				require.Equal(t, "r", i.Key().ID)
				trace = append(trace, line)
				return err
			}
		}
	}
	bus.Use(traced("outer"))
	bus.Use(traced("inner"))
	bus.Within(traced("within"))
	s := &shop{}
	require.NoError(t, cqrs.Register(bus, "order.v1", s.order, byRequest()))
	for range 2 {
		r, err := cqrs.Send(t.Context(), bus, Order{Request: "r"})
		require.NoError(t, err)
		require.EqualValues(t, 1, r.Number)
	}
	require.Equal(t, []string{
		"within order.v1", "inner order.v1", "outer order.v1",
		"inner order.v1 replayed", "outer order.v1 replayed",
	}, trace)
}

// TestMiddlewareThatForgets: a success without a result is never told, nor
// recorded.
func TestMiddlewareThatForgets(t *testing.T) {
	t.Parallel()
	forgets := func(next cqrs.BusHandler) cqrs.BusHandler {
		return func(context.Context, *cqrs.Invocation) error { return nil }
	}
	swallows := func(next cqrs.BusHandler) cqrs.BusHandler {
		return func(ctx context.Context, i *cqrs.Invocation) error {
			_ = next(ctx, i)
			return nil
		}
	}
	rollsBack := func(next cqrs.BusHandler) cqrs.BusHandler {
		return func(ctx context.Context, i *cqrs.Invocation) error {
			_ = next(ctx, i)
			return errShop
		}
	}
	for name, c := range map[string]struct {
		add  func(*cqrs.Bus)
		end  error
		runs int64 // of two sends
	}{
		"around":                        {func(b *cqrs.Bus) { b.Use(forgets) }, nil, 0},
		"within":                        {func(b *cqrs.Bus) { b.Within(forgets) }, nil, 0},
		"around, an error is kept back": {func(b *cqrs.Bus) { b.Use(swallows) }, errShop, 2},
		"within, an error is kept back": {func(b *cqrs.Bus) { b.Within(swallows) }, errShop, 2},
		"within, that of a middleware":  {func(b *cqrs.Bus) { b.Within(swallows, rollsBack) }, nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bus := newBus(t, cqrs.BusOptions{})
			c.add(bus)
			s := &shop{before: func(context.Context, int64, Order) error { return c.end }}
			require.NoError(t, cqrs.Register(bus, "order.v1", s.order, byRequest()))
			for range 2 {
				_, err := cqrs.Send(t.Context(), bus, Order{Request: "r"})
				require.ErrorIs(t, err, cqrs.ErrNotHandled)
			}
			require.Equal(t, c.runs, s.runs.Load())
		})
	}
}

// TestWithinRetries: a middleware may try again, under the one claim, and what
// was rolled back runs again: a commit that failed must not be repeated without
// the effect.
func TestWithinRetries(t *testing.T) {
	t.Parallel()
	errCollided := errors.New("collided")
	retry := func(next cqrs.BusHandler) cqrs.BusHandler {
		return func(ctx context.Context, i *cqrs.Invocation) error {
			for {
				if err := next(ctx, i); !errors.Is(err, errCollided) {
					return err
				}
			}
		}
	}
	for name, within := range map[string]func(transaction cqrs.BusMiddleware) []cqrs.BusMiddleware{
		"around the transaction": func(m cqrs.BusMiddleware) []cqrs.BusMiddleware { return []cqrs.BusMiddleware{retry, m} },
		"in one with it": func(m cqrs.BusMiddleware) []cqrs.BusMiddleware {
			return []cqrs.BusMiddleware{func(next cqrs.BusHandler) cqrs.BusHandler { return retry(m(next)) }}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bus := newBus(t, cqrs.BusOptions{})
			var written, committed []int64
			s := &shop{before: func(_ context.Context, run int64, _ Order) error {
				if run == 1 {
					return errCollided
				}
				written = append(written, run)
				return nil
			}}
			commits := 0
			bus.Within(within(func(next cqrs.BusHandler) cqrs.BusHandler {
				return func(ctx context.Context, i *cqrs.Invocation) error {
					written = nil
					if err := next(ctx, i); err != nil {
						return err
					}
					if commits++; commits < 3 {
						return errCollided
					}
					committed = append(committed, written...)
					return nil
				}
			})...)
			require.NoError(t, cqrs.Register(bus, "order.v1", s.order, byRequest()))
			for range 2 {
				r, err := cqrs.Send(t.Context(), bus, Order{Request: "r"})
				require.NoError(t, err)
				require.EqualValues(t, 4, r.Number)
			}
			require.Equal(t, []int64{4}, committed)
		})
	}
}

// TestWithinFails: an error of a middleware within frees the command.
func TestWithinFails(t *testing.T) {
	t.Parallel()
	bus := newBus(t, cqrs.BusOptions{})
	errCommit := errors.New("not committed")
	fails := true
	bus.Within(func(next cqrs.BusHandler) cqrs.BusHandler {
		return func(ctx context.Context, i *cqrs.Invocation) error {
			if err := next(ctx, i); err != nil {
				return err
			}
			if fails {
				return errCommit
			}
			return nil
		}
	})
	s := &shop{}
	require.NoError(t, cqrs.Register(bus, "order.v1", s.order, byRequest()))
	_, err := cqrs.Send(t.Context(), bus, Order{Request: "r"})
	require.Equal(t, errCommit, err)
	fails = false
	r, err := cqrs.Send(t.Context(), bus, Order{Request: "r"})
	require.NoError(t, err)
	require.EqualValues(t, 2, r.Number)
}

// TestBusOptions: what a command does not say, its bus does.
func TestBusOptions(t *testing.T) {
	t.Parallel()
	type tenant struct{}
	bus := newBus(t, cqrs.BusOptions{
		Scope: func(ctx context.Context) (string, error) {
			who, _ := ctx.Value(tenant{}).(string)
			return who, nil
		},
		Secret: []byte("0123456789abcdef"),
	})
	bus.Use(func(next cqrs.BusHandler) cqrs.BusHandler { // as authentication does
		return func(ctx context.Context, i *cqrs.Invocation) error {
			if i.Command().(Order).Customer == "" {
				return next(ctx, i)
			}
			return next(context.WithValue(ctx, tenant{}, i.Command().(Order).Customer), i)
		}
	})
	s := &shop{}
	require.NoError(t, cqrs.Register(bus, "order.v1", s.order, byRequest()))
	for _, who := range []string{"a", "b", "a"} {
		_, err := cqrs.Send(t.Context(), bus, Order{Request: "r", Customer: who})
		require.NoError(t, err)
	}
	require.EqualValues(t, 2, s.runs.Load())
	_, err := cqrs.Send(t.Context(), bus, Order{Request: "r"})
	require.ErrorIs(t, err, cqrs.ErrNoScope)
}
