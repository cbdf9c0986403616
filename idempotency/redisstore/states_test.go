package redisstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/lock"
)

// situations are the states that a key can be in for an asker with a nonce.
var situations = []string{
	"absent", "mine", "other's", "completed by me", "completed by another",
	"my unknown", "another's unknown", "spent by me", "free", "free later",
}

// arrange brings key into a situation for nonce.
func (e env) arrange(t *testing.T, situation string, key idempotency.Digest, nonce idempotency.Nonce) {
	t.Helper()
	owner := nonce
	switch situation {
	case "absent":
		return
	case "other's", "completed by another", "another's unknown", "free", "free later":
		owner = newNonce()
	}
	r := request(key, owner)
	r.Fingerprint, r.Label = printOf("content"), []byte("a label")
	b, err := e.Begin(t.Context(), r)
	require.NoError(t, err)
	end := idempotency.ReleaseRequest{Key: key, Nonce: owner, TTL: stub}
	switch situation {
	case "mine", "other's":
		return
	case "completed by me", "completed by another":
		e.complete(t, key, record(owner, b))
		return
	case "my unknown", "another's unknown":
		end.Unknown = keep
	case "free later":
		end.NotBefore = keep
	}
	require.NoError(t, e.Release(t.Context(), end))
}

// TestStates holds what each method does in each situation against a table:
// the error, or the state that Begin answers with, and the state after it. "="
// means that nothing has changed.
func TestStates(t *testing.T) {
	type outcome struct {
		err    error
		answer idempotency.State
		after  string
	}
	ok := func(after string) outcome { return outcome{after: after} }
	same := outcome{after: "="}
	expired, taken := outcome{err: lock.ErrExpired, after: "="}, outcome{err: lock.ErrTaken, after: "="}
	says := func(answer idempotency.State, after string) outcome { return outcome{answer: answer, after: after} }

	table := map[string]map[string]outcome{
		"begin": {
			"absent":               says(idempotency.StateClaimed, "claimed"),
			"mine":                 says(idempotency.StateClaimed, "="),
			"other's":              says(idempotency.StateHeld, "="),
			"completed by me":      says(idempotency.StateCompleted, "="),
			"completed by another": says(idempotency.StateCompleted, "="),
			"my unknown":           says(idempotency.StateUnknown, "="),
			"another's unknown":    says(idempotency.StateUnknown, "="),
			"spent by me":          {err: lock.ErrSpent, after: "="},
			"free":                 says(idempotency.StateClaimed, "claimed"),
			"free later":           says(idempotency.StateFree, "="),
		},
		"renew": {
			"absent": expired, "mine": same, "other's": taken, "completed by me": taken, "completed by another": taken,
			"my unknown": taken, "another's unknown": taken, "spent by me": expired, "free": expired, "free later": expired,
		},
		"complete": {
			"absent": ok("completed"), "mine": ok("completed"), "other's": taken, "completed by me": same,
			"completed by another": taken, "my unknown": expired, "another's unknown": taken,
			"spent by me": expired, "free": expired, "free later": expired,
		},
		"release": {
			"absent": expired, "mine": ok("free"), "other's": taken, "completed by me": taken,
			"completed by another": taken, "my unknown": same, "another's unknown": taken,
			"spent by me": same, "free": expired, "free later": expired,
		},
		"release until later": {
			"absent": expired, "mine": ok("free"), "other's": taken, "completed by me": taken,
			"completed by another": taken, "my unknown": same, "another's unknown": taken,
			"spent by me": same, "free": expired, "free later": expired,
		},
		"declare unknown": {
			"absent": expired, "mine": ok("unknown"), "other's": taken, "completed by me": taken,
			"completed by another": taken, "my unknown": same, "another's unknown": taken,
			"spent by me": same, "free": expired, "free later": expired,
		},
		"compensate": {
			"absent": ok("free"), "mine": ok("free"), "other's": taken, "completed by me": taken,
			"completed by another": taken, "my unknown": same, "another's unknown": taken,
			"spent by me": same, "free": ok("free"), "free later": ok("free"),
		},
	}
	onServers(t, func(t *testing.T, e env) {
		for method, row := range table {
			for _, situation := range situations {
				want, known := row[situation]
				require.True(t, known, "%s, %s", method, situation)
				key, nonce := digestOf(t, method+situation), newNonce()
				e.arrange(t, situation, key, nonce)
				before := e.look(t, key)
				value, _ := e.raw(t, key)

				var got outcome
				release := idempotency.ReleaseRequest{Key: key, Nonce: nonce, TTL: stub}
				switch method {
				case "begin":
					b, err := e.Begin(t.Context(), request(key, nonce))
					got.answer, got.err = b.State, err
				case "renew":
					got.err = e.Renew(t.Context(), idempotency.RenewRequest{Key: key, Nonce: nonce, Lease: lease})
				case "complete":
					var late bool
					late, got.err = e.Complete(t.Context(), idempotency.CompleteRequest{
						Key: key, Retention: keep, Record: record(nonce, idempotency.Begun{Fence: 7, Attempt: 1}),
					})
					require.Equal(t, situation == "absent", late, situation)
				case "release until later":
					release.NotBefore = keep
				case "declare unknown":
					release.Unknown = keep
				case "compensate":
					release.Compensate = true
				}
				switch method {
				case "release", "release until later", "declare unknown", "compensate":
					got.err = e.Release(t.Context(), release)
				}

				require.ErrorIs(t, got.err, want.err, "%s, %s", method, situation)
				require.Equal(t, want.answer, got.answer, "%s, %s", method, situation)
				after := e.look(t, key)
				if want.after == "=" {
					now, _ := e.raw(t, key)
					require.Equal(t, value, now, "%s, %s", method, situation)
					require.LessOrEqual(t, after.Remaining, before.Remaining+time.Second, "%s, %s", method, situation)
				} else {
					require.Equal(t, want.after, after.State.String(), "%s, %s", method, situation)
					require.Equal(t, nonce, after.Record.Nonce, "%s, %s", method, situation)
				}
			}
		}
	})
}

// TestForeign shows that what we do not understand is never run, never counts as
// absent and is never overwritten.
func TestForeign(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		good := func() string {
			key, nonce := digestOf(t, "good"), newNonce()
			e.complete(t, key, record(nonce, e.begin(t, key, nonce)))
			value, _ := e.raw(t, key)
			return value
		}()
		for name, value := range map[string]string{
			"empty":             "",
			"another version":   "2" + good[1:],
			"another state":     good[:1] + "x" + good[2:],
			"something else":    "a value of someone's",
			"a claim of later":  "2c" + good[2:],
			"a release of ours": "1", // cut off
		} {
			key, nonce := digestOf(t, name), newNonce()
			require.NoError(t, e.rdb.Set(t.Context(), nameOf(key), value, keep).Err())
			refuses := func(err error, what string) {
				t.Helper()
				require.ErrorIs(t, err, idempotency.ErrResultUnavailable, "%s: %s", name, what)
				require.NotErrorIs(t, err, lock.ErrLost, name)
			}
			e.unchanged(t, key, func() {
				b, err := e.Begin(t.Context(), request(key, nonce))
				refuses(err, "begin")
				require.Zero(t, b)
				refuses(e.Renew(t.Context(), idempotency.RenewRequest{Key: key, Nonce: nonce, Lease: lease}), "renew")
				_, err = e.Complete(t.Context(), idempotency.CompleteRequest{Key: key, Record: record(nonce, b), Retention: keep})
				refuses(err, "complete")
				for _, compensate := range []bool{false, true} {
					refuses(e.Release(t.Context(), idempotency.ReleaseRequest{
						Key: key, Nonce: nonce, TTL: stub, Compensate: compensate,
					}), "release")
				}
				_, err = e.Look(t.Context(), key)
				refuses(err, "look")
				_, err = e.Forget(t.Context(), key, stub)
				refuses(err, "forget")
				_, err = e.ForceComplete(t.Context(), idempotency.CompleteRequest{Key: key, Record: record(nonce, b), Retention: keep})
				refuses(err, "force complete")
				_, err = e.ReleaseDead(t.Context(), key, nonce, stub)
				refuses(err, "release dead")
			})
		}
		// A record that is completed but cannot be read is not run either.
		for n := range len(good) - len("done") {
			if n < len("1d") {
				continue
			}
			key := digestOf(t, "cut off")
			require.NoError(t, e.rdb.Set(t.Context(), nameOf(key), good[:n], keep).Err())
			_, err := e.Begin(t.Context(), request(key, newNonce()))
			require.ErrorIs(t, err, idempotency.ErrResultUnavailable)
		}
		key := digestOf(t, "another type")
		require.NoError(t, e.rdb.LPush(t.Context(), nameOf(key), "x").Err())
		require.NoError(t, e.rdb.Expire(t.Context(), nameOf(key), keep).Err())
		_, err := e.Begin(t.Context(), request(key, newNonce()))
		require.ErrorIs(t, err, idempotency.ErrResultUnavailable)

		// A list goes on past them.
		count := 0
		for info, err := range e.List(t.Context(), idempotency.ListOptions{}) {
			require.NoError(t, err)
			require.Equal(t, digestOf(t, "good"), info.Key)
			count++
		}
		require.Equal(t, 1, count)
	})
}
