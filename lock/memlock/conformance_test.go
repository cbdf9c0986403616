package memlock_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/lock/locktest"
	"github.com/semel-go/semel/lock/memlock"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	open := func(t *testing.T) lock.Backend {
		b, err := memlock.New(memlock.Options{})
		require.NoError(t, err)
		return b
	}
	locktest.Run(t, locktest.Harness{
		New: func(t *testing.T) locktest.Store {
			return locktest.Store{
				Backend: open(t),
				// Memory can only lose everything.
				Rewind: func() func() lock.Backend { return func() lock.Backend { return open(t) } },
			}
		},
		Isolate:  synctest.Test,
		Features: locktest.Features{Fencing: true, Waiting: true, Batch: true, Inspect: true, Raise: true},
	})
}
