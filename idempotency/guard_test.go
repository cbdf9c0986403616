package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/memstore"
)

func newGuard(t *testing.T, o idempotency.Options) *idempotency.Guard {
	t.Helper()
	store, err := memstore.New(memstore.Options{})
	require.NoError(t, err)
	guard := newGuardOn(t, store, o)
	return guard
}

func newGuardOn(t *testing.T, store idempotency.Store, o idempotency.Options) *idempotency.Guard {
	t.Helper()
	guard, err := idempotency.New(store, o)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		require.NoError(t, guard.Close(ctx))
		if c, ok := store.(interface{ Close() error }); ok {
			require.NoError(t, c.Close())
		}
	})
	return guard
}

var key = idempotency.Key{Scope: "invoice", ID: "in_123"}

type invoiceReceipt struct{ Number int64 }

func TestDoRunsOnceAndReplays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		guard := newGuard(t, idempotency.Options{})
		runs := 0
		fn := func(ctx context.Context) (invoiceReceipt, error) {
			runs++
			claim, ok := idempotency.ClaimFrom(ctx)
			require.True(t, ok)
			require.Equal(t, uint32(1), claim.Attempt())
			require.NotZero(t, claim.Fence())
			return invoiceReceipt{1<<53 + 1}, nil
		}
		for range 3 {
			r, err := idempotency.Do(t.Context(), guard, key, fn)
			require.NoError(t, err)
			require.Equal(t, invoiceReceipt{1<<53 + 1}, r)
		}
		require.Equal(t, 1, runs)
		time.Sleep(25 * time.Hour)
		_, err := idempotency.Do(t.Context(), guard, key, fn)
		require.NoError(t, err)
		require.Equal(t, 2, runs, "the retention is over")
	})
}

func TestFailureReleases(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		guard := newGuard(t, idempotency.Options{})
		attempt := func(fn func()) (n uint32) {
			_, _ = idempotency.Do(t.Context(), guard, key, func(ctx context.Context) (int, error) {
				claim, _ := idempotency.ClaimFrom(ctx)
				n = claim.Attempt()
				fn()
				return 0, errors.New("failed")
			})
			return n
		}
		require.Equal(t, uint32(1), attempt(func() {}))
		require.Panics(t, func() { attempt(func() { panic("boom") }) })
		done := make(chan struct{})
		go func() { defer close(done); attempt(runtime.Goexit) }()
		<-done
		require.Equal(t, uint32(4), attempt(func() {}))
	})
}

func TestWaitersReplayTheOutcome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		guard := newGuard(t, idempotency.Options{Wait: time.Minute})
		var runs atomic.Int32
		var wg sync.WaitGroup
		for range 1000 {
			wg.Go(func() {
				v, err := idempotency.Do(t.Context(), guard, key, func(context.Context) (int, error) {
					time.Sleep(10 * time.Second)
					return int(runs.Add(1)), nil
				})
				require.NoError(t, err)
				require.Equal(t, 1, v)
			})
		}
		start := time.Now()
		wg.Wait()
		require.Equal(t, 10*time.Second, time.Since(start))
		require.EqualValues(t, 1, runs.Load())
	})
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		guard := newGuard(t, idempotency.Options{})
		a, b := idempotency.FingerprintOf([]byte("a")), idempotency.FingerprintOf([]byte("b"))
		run := func(fp idempotency.Fingerprint, fn func(context.Context) error) (idempotency.Outcome, error) {
			return guard.Run(t.Context(), key, idempotency.RunOptions{Fingerprint: fp}, func(ctx context.Context) (idempotency.Result, error) {
				return idempotency.Result{Data: []byte("x")}, fn(ctx)
			})
		}
		nothing := func(context.Context) error { return nil }
		_, err := run(a, func(ctx context.Context) error {
			_, err := run(a, nothing)
			var busy *idempotency.InProgressError
			require.ErrorAs(t, err, &busy)
			require.InDelta(t, 30*time.Second, busy.RetryAfter, float64(time.Millisecond))
			_, err = run(b, nothing)
			require.ErrorIs(t, err, idempotency.ErrMismatch, "before in progress")
			_, err = guard.Run(ctx, key, idempotency.RunOptions{}, func(context.Context) (idempotency.Result, error) { panic("ran") })
			require.ErrorIs(t, err, idempotency.ErrReentrant)
			return idempotency.RetryAfter(time.Minute, errors.New("later"))
		})
		d, ok := idempotency.RetryDelay(err)
		require.True(t, ok)
		require.Equal(t, time.Minute, d)

		_, err = run(a, nothing)
		require.ErrorIs(t, err, idempotency.ErrInProgress, "not before the minute is over")
		time.Sleep(time.Minute)
		_, err = run(a, func(context.Context) error { return idempotency.Unknown(errors.New("no answer")) })
		require.True(t, idempotency.IsUnknown(err))
		_, err = run(a, nothing)
		require.ErrorIs(t, err, idempotency.ErrOutcomeUnknown)
		time.Sleep(25 * time.Hour)
		_, err = run(a, func(context.Context) error { return idempotency.Final(errors.New("card declined")) })
		require.EqualError(t, err, "card declined")
		out, err := run(a, nothing)
		var final *idempotency.FinalError
		require.ErrorAs(t, err, &final)
		require.EqualError(t, err, "card declined")
		require.Equal(t, idempotency.Replayed, out.Status)
		_, err = run(b, nothing)
		var mismatch *idempotency.MismatchError
		require.ErrorAs(t, err, &mismatch)
		require.Equal(t, out.CompletedAt.UnixMilli(), mismatch.CompletedAt.UnixMilli())
	})
}

func TestLongRunsAreRenewed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		guard := newGuard(t, idempotency.Options{Lease: time.Second})
		_, err := idempotency.Do(t.Context(), guard, key, func(ctx context.Context) (int, error) {
			for range 100 {
				time.Sleep(time.Second)
				_, err := idempotency.Do(t.Context(), guard, key, func(context.Context) (int, error) { return 0, nil })
				require.ErrorIs(t, err, idempotency.ErrInProgress)
			}
			return 1, ctx.Err()
		})
		require.NoError(t, err)
	})
}

func TestGuardDoesNotPrintItsKeys(t *testing.T) {
	t.Parallel()
	store, err := memstore.New(memstore.Options{})
	require.NoError(t, err)
	secret := []byte("0123456789abcdef0123456789abcdef")
	guard := newGuardOn(t, store, idempotency.Options{Encryption: idempotency.Encryption{
		Current: "a", Keys: idempotency.Keyring{"a": secret},
	}})
	for _, g := range []any{guard, *guard, guard.With(idempotency.Options{})} {
		for _, format := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
			text := fmt.Sprintf(format, g)
			require.NotContains(t, text, "48 49 50")
			require.NotContains(t, text, "0x30, 0x31")
			require.NotContains(t, text, string(secret))
		}
	}
}
