package watermillcqrs_test

import (
	"context"
	"testing"

	wmcqrs "github.com/ThreeDotsLabs/watermill/components/cqrs"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/cqrs/watermillcqrs"
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

func newTxGuard(t *testing.T) *idempotency.Guard {
	t.Helper()
	store, err := memstore.New(memstore.Options{})
	require.NoError(t, err)
	guard, err := idempotency.New(&txStore{Store: store}, idempotency.Options{})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, guard.Close(context.Background()))
		require.NoError(t, store.Close())
	})
	return guard
}

// TestCompleteTx has a handler commit with what it produced, and then fail, as
// when the commit's answer is lost: what it produced is published.
func TestCompleteTx(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]error{"success": nil, "the commit's answer is lost": errFails} {
		runs := 0
		h := watermillcqrs.Middleware(newTxGuard(t), watermillcqrs.MetadataKey("key"), watermillcqrs.MiddlewareOptions{})(
			func(msg *message.Message) ([]*message.Message, error) {
				runs++
				produced := []*message.Message{message.NewMessage("produced", []byte("p"))}
				require.NoError(t, watermillcqrs.CompleteTx(msg.Context(), nil, produced...))
				if failure != nil {
					return nil, failure
				}
				return produced, nil
			})
		for range 3 {
			produced, err := deliver(h, "", "k", "p")
			require.NoError(t, err, name)
			require.Len(t, produced, 1, name)
			require.Equal(t, "produced", produced[0].UUID, name)
			require.Equal(t, "p", string(produced[0].Payload), name)
		}
		require.Equal(t, 1, runs, name)
	}
	require.ErrorIs(t, watermillcqrs.CompleteTx(t.Context(), nil), idempotency.ErrInvalid, "no run")
}

// TestCommandCompletesInTx shows how the handler of a command does it.
func TestCommandCompletesInTx(t *testing.T) {
	t.Parallel()
	once, err := watermillcqrs.New(newTxGuard(t), watermillcqrs.For("order.create.v1", createOptions()))
	require.NoError(t, err)
	runs := 0
	handler := wmcqrs.NewCommandHandler("create", func(ctx context.Context, _ *CreateOrder) error {
		runs++
		require.NoError(t, idempotency.CompleteTx(ctx, nil, struct{}{}))
		return errFails // of the commit, which was made all the same
	})
	for range 3 {
		require.NoError(t, once.OnCommand(nil)(wmcqrs.CommandProcessorOnHandleParams{
			Handler: handler, Command: &CreateOrder{RequestID: "r1"}, Message: newMessage("", "", ""),
		}))
	}
	require.Equal(t, 1, runs)
}
