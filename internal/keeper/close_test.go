package keeper_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/keeper"
)

var errClosed = errors.New("closed")

// slow is a holding whose owner takes its time to learn of the loss.
type slow struct {
	keeper.Holding
	lost atomic.Int32
}

func (s *slow) Lost(error) {
	time.Sleep(time.Second)
	s.lost.Add(1)
}

func (*slow) Renewed()          {}
func (*slow) RenewFailed(error) {}

// ended returns a context that has ended.
func ended(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// While a Close that gave up tells the owners one by one, the others' renewals
// fall due. They are not made, and are not to be tried for ever, either.
func TestCloseGivesUpWhileRenewalsAreDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var renewed atomic.Int32
		k := keeper.New(keeper.Config{
			Node: func(*keeper.Holding) string { return "" },
			Renew: func(_ context.Context, hs []*keeper.Holding) []error {
				renewed.Add(int32(len(hs)))
				return make([]error, len(hs))
			},
		})
		all := make([]*slow, 10)
		for i := range all {
			s := &slow{}
			s.Owner, s.TTL = s, 6*time.Second
			all[i] = s
			start := keeper.Now()
			require.True(t, k.Hold(&s.Holding, start, start))
		}
		require.ErrorIs(t, k.Close(ended(t), errClosed), context.Canceled)
		time.Sleep(time.Minute)
		require.Zero(t, renewed.Load())
		for _, s := range all {
			require.EqualValues(t, 1, s.lost.Load())
			require.False(t, s.Valid())
		}
	})
}

// What is under way when a Close gives up may make further requests, to undo
// something. They are bounded like any other.
func TestDeadlinesHoldAfterCloseGaveUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := keeper.New(keeper.Config{})
		require.True(t, k.Enter())
		before := &op{}
		ran, finished := k.Do(t.Context(), time.Minute, before, &before.Call)
		require.True(t, ran && finished)
		require.ErrorIs(t, k.Close(ended(t), errClosed), context.Canceled)

		start, after := time.Now(), &op{takes: time.Hour}
		ran, finished = k.Do(t.Context(), 2*time.Minute, after, &after.Call)
		require.True(t, ran)
		require.False(t, finished)
		require.Equal(t, 2*time.Minute, time.Since(start))
		k.Exit()
		require.NoError(t, k.Close(t.Context(), nil))
	})
}
