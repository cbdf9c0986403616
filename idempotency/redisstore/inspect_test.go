package redisstore_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/redisstore"
	"github.com/semel-go/semel/lock"
)

func TestLook(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		require.Equal(t, idempotency.Info{Key: digestOf(t, "absent")}, e.look(t, digestOf(t, "absent")))
		nonce := newNonce()
		for situation, want := range map[string]struct {
			state     idempotency.State
			remaining time.Duration
		}{
			"mine":            {idempotency.StateClaimed, lease},
			"completed by me": {idempotency.StateCompleted, keep},
			"my unknown":      {idempotency.StateUnknown, keep},
			"spent by me":     {idempotency.StateFree, stub},
			"free later":      {idempotency.StateFree, keep + stub},
		} {
			key := digestOf(t, situation)
			e.arrange(t, situation, key, nonce)
			e.unchanged(t, key, func() {
				info := e.look(t, key)
				require.Equal(t, key, info.Key)
				require.Equal(t, want.state, info.State, situation)
				about(t, want.remaining, info.Remaining)
				require.Positive(t, info.Size)
				require.Positive(t, info.Record.Fence)
				require.EqualValues(t, 1, info.Record.Attempt)
			})
		}
	})
}

func TestList(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		// Its neighbours are not its own.
		other := newStore(t, e.rdb, redisstore.Options{Prefix: prefix + "*"})
		require.NoError(t, e.rdb.Set(t.Context(), prefix+"something else", "x", keep).Err())
		scopes := []string{"a", "b", "c"}
		want := map[idempotency.Digest]idempotency.State{}
		for _, scope := range scopes {
			for i := range 40 {
				key, err := idempotency.Key{Scope: scope, ID: strings.Repeat("x", i+1)}.Digest()
				require.NoError(t, err)
				situation := []string{"mine", "completed by me", "my unknown", "free later"}[i%4]
				e.arrange(t, situation, key, newNonce())
				want[key] = []idempotency.State{idempotency.StateClaimed, idempotency.StateCompleted, idempotency.StateUnknown, idempotency.StateFree}[i%4]
			}
		}
		for range 50 {
			_, err := e.Bind(t.Context(), idempotency.Digest(append(newFill(), newFill()...)), idempotency.Digest{}, keep)
			require.NoError(t, err)
		}
		_, err := other.Begin(t.Context(), request(digestOf(t, "other"), newNonce()))
		require.NoError(t, err)

		list := func(o idempotency.ListOptions) map[idempotency.Digest]idempotency.State {
			t.Helper()
			got := map[idempotency.Digest]idempotency.State{}
			for info, err := range e.List(t.Context(), o) {
				require.NoError(t, err)
				got[info.Key] = info.State
			}
			return got
		}
		e.mustDo(t, "SCRIPT", "FLUSH")
		require.Equal(t, want, list(idempotency.ListOptions{}))
		for _, scope := range scopes {
			got := list(idempotency.ListOptions{Scope: idempotency.ScopeDigest(scope)})
			require.Len(t, got, 40)
			for key := range got {
				require.Contains(t, want, key)
				require.Equal(t, idempotency.ScopeDigest(scope), key[:8])
			}
		}
		one := func(scope []byte, states ...idempotency.State) int {
			return len(list(idempotency.ListOptions{Scope: scope, States: states}))
		}
		require.Equal(t, 30, one(nil, idempotency.StateClaimed))
		require.Equal(t, 60, one(nil, idempotency.StateCompleted, idempotency.StateUnknown))
		require.Equal(t, 10, one(idempotency.ScopeDigest("a"), idempotency.StateFree))
		require.Zero(t, one(idempotency.ScopeDigest("nobody's")))
		require.Zero(t, one(make([]byte, 40)), "longer than any digest")

		// A reader may stop, and a context that ends is told.
		for _, err := range e.List(t.Context(), idempotency.ListOptions{}) {
			require.NoError(t, err)
			break
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		var errs []error
		for _, err := range e.List(ended, idempotency.ListOptions{}) {
			errs = append(errs, err)
		}
		require.Len(t, errs, 1)
		require.ErrorIs(t, errs[0], context.Canceled)
		require.NoError(t, e.rdb.Del(t.Context(), prefix+"something else").Err())
	})
}

func newFill() []byte {
	n := newNonce()
	return n[:]
}

func TestForget(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		for _, situation := range situations {
			key, nonce := digestOf(t, situation), newNonce()
			e.arrange(t, situation, key, nonce)
			before := e.look(t, key)
			found, err := e.Forget(t.Context(), key, stub)
			require.NoError(t, err)
			require.Equal(t, situation != "absent", found, situation)
			after := e.look(t, key)
			if situation == "absent" {
				require.Equal(t, idempotency.StateAbsent, after.State)
				continue
			}
			require.Equal(t, idempotency.StateFree, after.State)
			require.Zero(t, after.NotBefore)
			require.Equal(t, before.Record.Nonce, after.Record.Nonce)
			if situation == "free later" {
				about(t, keep+stub, after.Remaining)
			} else {
				about(t, stub, after.Remaining)
			}
			// A run that is still under way can no longer complete, nor begin.
			_, err = e.Complete(t.Context(), idempotency.CompleteRequest{
				Key: key, Record: record(before.Record.Nonce, idempotency.Begun{}), Retention: keep,
			})
			require.ErrorIs(t, err, lock.ErrExpired)
			_, err = e.Begin(t.Context(), request(key, before.Record.Nonce))
			require.ErrorIs(t, err, lock.ErrSpent)
			b := e.begin(t, key, newNonce())
			require.Greater(t, b.Fence, before.Record.Fence)
			require.Equal(t, before.Record.Attempt+1, b.Attempt)
		}
	})
}

func TestForceComplete(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		for _, situation := range situations {
			key, nonce := digestOf(t, situation), newNonce()
			e.arrange(t, situation, key, nonce)
			before := e.look(t, key)
			r := idempotency.CompleteRequest{Key: key, Record: record(newNonce(), idempotency.Begun{Attempt: 3}), Retention: keep}
			done, err := e.ForceComplete(t.Context(), r)
			require.NoError(t, err)
			if before.State == idempotency.StateCompleted {
				require.False(t, done)
				require.Equal(t, before.Record, e.look(t, key).Record)
				continue
			}
			require.True(t, done, situation)
			after := e.look(t, key)
			require.Equal(t, idempotency.StateCompleted, after.State)
			about(t, keep, after.Remaining)
			require.Greater(t, after.Record.Fence, before.Record.Fence)
			r.Record.Fence = after.Record.Fence
			require.Equal(t, r.Record, after.Record)

			// A copy of it has done the same; another comes too late.
			r.Record.Fence = 0
			done, err = e.ForceComplete(t.Context(), r)
			require.NoError(t, err)
			require.True(t, done)
			r.Record.Body = []byte("another")
			done, err = e.ForceComplete(t.Context(), r)
			require.NoError(t, err)
			require.False(t, done)
			require.Equal(t, after.Record, e.look(t, key).Record)

			_, err = e.Complete(t.Context(), idempotency.CompleteRequest{Key: key, Record: record(nonce, idempotency.Begun{}), Retention: keep})
			require.ErrorIs(t, err, lock.ErrTaken)
		}
		// A fence that is above the present one is taken as it is.
		key, nonce := digestOf(t, "fence"), newNonce()
		b := e.begin(t, key, nonce)
		r := idempotency.CompleteRequest{Key: key, Record: record(newNonce(), idempotency.Begun{Fence: b.Fence + 5}), Retention: keep}
		_, err := e.ForceComplete(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, b.Fence+5, e.look(t, key).Record.Fence)
	})
}

func TestReleaseDead(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		for _, situation := range situations {
			key, nonce := digestOf(t, situation), newNonce()
			e.arrange(t, situation, key, nonce)
			before := e.look(t, key)
			value, _ := e.raw(t, key)
			done, err := e.ReleaseDead(t.Context(), key, nonce, stub)
			require.NoError(t, err)
			want := slices.Contains([]string{"mine", "my unknown", "another's unknown"}, situation)
			require.Equal(t, want, done, situation)
			if !want {
				after, _ := e.raw(t, key)
				require.Equal(t, value, after)
				continue
			}
			after := e.look(t, key)
			require.Equal(t, idempotency.StateFree, after.State)
			about(t, stub, after.Remaining)
			require.Equal(t, before.Record.Nonce, after.Record.Nonce)
			require.Equal(t, before.Record.Fence, after.Record.Fence)
			require.EqualValues(t, 2, e.begin(t, key, newNonce()).Attempt)
		}
	})
}
