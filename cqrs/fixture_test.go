package cqrs_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/cqrs"
	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/memstore"
)

// Order is the command of most tests.
type Order struct {
	cqrs.Returns[Receipt]
	Request  string `semel:"-"`
	Customer string
	Amount   int64
}

// Receipt is what it returns.
type Receipt struct {
	Number   int64
	Customer string
	At       time.Time
	Lines    map[string]map[string]int64
}

// newGuard returns a Guard in memory that ends with the test.
func newGuard(tb testing.TB, o idempotency.Options) *idempotency.Guard {
	tb.Helper()
	store, err := memstore.New(memstore.Options{})
	require.NoError(tb, err)
	guard, err := idempotency.New(store, o)
	require.NoError(tb, err)
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(tb, guard.Close(ctx))
		require.NoError(tb, store.Close())
	})
	return guard
}

// byRequest is the options of orders whose key is the request's.
func byRequest() cqrs.Options[Order] {
	return cqrs.Options[Order]{Key: func(o Order) string { return o.Request }}
}

// shop is a handler that counts.
type shop struct {
	runs atomic.Int64
	// before is called in each run, with its number, and may end it.
	before func(ctx context.Context, run int64, o Order) error
}

func (s *shop) order(ctx context.Context, o Order) (Receipt, error) {
	n := s.runs.Add(1)
	if s.before != nil {
		if err := s.before(ctx, n, o); err != nil {
			return Receipt{}, err
		}
	}
	return Receipt{Number: n, Customer: o.Customer}, nil
}

// wrap is Wrap, of a shop's handler.
func (s *shop) wrap(tb testing.TB, guard *idempotency.Guard, o cqrs.Options[Order]) cqrs.Handler[Order, Receipt] {
	tb.Helper()
	h, err := cqrs.Wrap(guard, "order.v1", s.order, o)
	require.NoError(tb, err)
	return h
}

// errShop is an error that the shop knows.
var errShop = errors.New("out of stock")
