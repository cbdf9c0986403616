package idempotency_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/memstore"
)

// deaf is a store that renews nothing.
type deaf struct{ *memstore.Store }

func (deaf) Renew(context.Context, idempotency.RenewRequest) error { return errors.New("no answer") }

// TestClaimIsValidWhileItCanBeTrusted: a run that was paused can ask before it
// does what cannot be undone.
func TestClaimIsValidWhileItCanBeTrusted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, err := memstore.New(memstore.Options{})
		require.NoError(t, err)
		guard := newGuardOn(t, deaf{store}, idempotency.Options{Lease: time.Minute})
		var kept *idempotency.Claim
		_, err = guard.Run(t.Context(), key, idempotency.RunOptions{}, func(ctx context.Context) (idempotency.Result, error) {
			kept, _ = idempotency.ClaimFrom(ctx)
			time.Sleep(30 * time.Second)
			require.True(t, kept.Valid())
			time.Sleep(30 * time.Second)
			require.False(t, kept.Valid(), "the lease is over")
			require.ErrorIs(t, context.Cause(ctx), idempotency.ErrLost)
			return idempotency.Result{}, nil
		})
		require.NoError(t, err)
		require.False(t, kept.Valid(), "the run is over")
	})
}

// TestSteeredTellsTheLastWord is for middleware, which ends a run in its
// handler's stead.
func TestSteeredTellsTheLastWord(t *testing.T) {
	t.Parallel()
	guard := newGuard(t, idempotency.Options{})
	boom := errors.New("boom")
	_, err := guard.Run(t.Context(), key, idempotency.RunOptions{}, func(ctx context.Context) (idempotency.Result, error) {
		claim, _ := idempotency.ClaimFrom(ctx)
		steered := func(want idempotency.Ending, because error) {
			t.Helper()
			how, reason := claim.Steered()
			require.Equal(t, want, how)
			require.Equal(t, because, reason)
		}
		steered(idempotency.EndByReturn, nil)
		claim.Unknown()
		steered(idempotency.EndUnknown, nil)
		claim.Permanent(boom)
		steered(idempotency.EndPermanent, boom)
		claim.Release()
		steered(idempotency.EndRelease, nil)
		claim.Keep()
		steered(idempotency.EndKeep, nil)
		return idempotency.Result{}, nil
	})
	require.NoError(t, err)
}
