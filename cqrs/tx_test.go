package cqrs_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/cqrs"
	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/memstore"
)

// txStore records what is completed in a transaction at once: one that always
// commits.
type txStore struct {
	*memstore.Store
	committed idempotency.Record
}

func (s *txStore) CompleteTx(ctx context.Context, _ idempotency.Tx, r idempotency.CompleteRequest) error {
	s.committed = r.Record
	_, err := s.Complete(ctx, r)
	return err
}

func (s *txStore) SettleTx(context.Context, idempotency.ReleaseRequest) (idempotency.Record, bool, error) {
	return s.committed, true, nil
}

// TestCompleteTx: a result that was recorded with its effect is replayed, of
// whatever version it is, and so to a run that does not know that it committed.
func TestCompleteTx(t *testing.T) {
	t.Parallel()
	store, err := memstore.New(memstore.Options{})
	require.NoError(t, err)
	guard, err := idempotency.New(&txStore{Store: store}, idempotency.Options{})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, guard.Close(context.Background()))
		require.NoError(t, store.Close())
	})
	for request, failure := range map[string]error{"committed": nil, "the commit's answer is lost": errShop} {
		s := &shop{before: func(ctx context.Context, run int64, o Order) error {
			require.ErrorIs(t, cqrs.CompleteTx(ctx, nil, struct{}{}), idempotency.ErrInvalid, "another result than R")
			require.NoError(t, cqrs.CompleteTx(ctx, nil, Receipt{Number: run, Customer: o.Customer}))
			return failure
		}}
		o := byRequest()
		o.ResultVersion = 2
		order := s.wrap(t, guard, o)
		for range 3 {
			r, err := order(t.Context(), Order{Request: request, Customer: "c"})
			require.NoError(t, err, request)
			require.Equal(t, Receipt{Number: 1, Customer: "c"}, r, request)
		}
		require.EqualValues(t, 1, s.runs.Load(), request)
	}
	require.ErrorIs(t, cqrs.CompleteTx(t.Context(), nil, Receipt{}), idempotency.ErrInvalid, "no command")
}
