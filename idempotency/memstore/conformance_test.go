package memstore_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/idempotencytest"
	"github.com/semel-go/semel/idempotency/memstore"
)

// open makes a store that ends with the test.
func open(t *testing.T, o memstore.Options) *memstore.Store {
	t.Helper()
	s, err := memstore.New(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestConformance(t *testing.T) {
	t.Parallel()
	idempotencytest.Run(t, idempotencytest.Harness{
		New: func(t *testing.T) idempotencytest.Store {
			return idempotencytest.Store{
				Store: open(t, memstore.Options{}),
				// Memory can only lose everything.
				Rewind: func() func() idempotency.Store {
					return func() idempotency.Store { return open(t, memstore.Options{}) }
				},
			}
		},
		Isolate:  synctest.Test,
		Features: idempotencytest.Features{Waiting: true, Batch: true, Bind: true, Inspect: true},
	})
}
