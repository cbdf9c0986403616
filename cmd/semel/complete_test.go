package main_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	semel "github.com/semel-go/semel/cmd/semel"
	"github.com/semel-go/semel/idempotency"
)

func TestComplete(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		key := e.unknown(invoice("in_1"))
		e.fails(refused, "give -yes", "complete", key)
		require.Equal(t, "unknown", e.state(key))
		require.Equal(t, "completed, without a result: no delivery will run it for 7d; after that it runs again\n", e.ok("complete", key, "-yes", "-retention", "7d"))
		require.Contains(t, e.ok("show", key), "result        tombstone\n")
		require.Contains(t, e.ok("show", key), "kept for      ")
		_, err := idempotency.Do(t.Context(), e.guard, invoice("in_1"), func(context.Context) (string, error) {
			t.Error("it ran")
			return "", nil
		})
		require.ErrorIs(t, err, idempotency.ErrResultUnavailable)
		e.fails(refused, "completed already", "complete", key, "-yes")
	})
}

// TestCompleteBeforehand: what has never run is kept from running.
func TestCompleteBeforehand(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		key := digest(t, invoice("in_1"))
		code, _, stderr := e.answering("n\n", "complete", key)
		require.Equal(t, refused, code)
		require.Contains(t, stderr, "Nothing is known of it")
		require.Equal(t, "absent", e.state(key))
		object := e.object("complete", key, "-yes")
		require.Equal(t, map[string]any{"key": key, "done": true, "state": "absent", "remaining_ms": thirtyDays}, object)
		require.False(t, e.runs(invoice("in_1")))
	})
}

// thirtyDays is how long a key is completed unless it was held longer, in
// milliseconds.
const thirtyDays = 30 * 24 * 3600 * 1000.0

// TestCompleteKeepsAsLong: to decide never shortens the protection that the key
// had undecided, and the prompt says how long it is.
func TestCompleteKeepsAsLong(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		short := e.unknown(invoice("in_1"))
		e.guard = e.guard.With(idempotency.Options{UnknownFor: 90*24*time.Hour + 30*time.Minute})
		long, other := e.unknown(invoice("in_2")), e.unknown(invoice("in_3"))

		_, _, stderr := e.answering("n\n", "complete", short)
		require.Contains(t, stderr, "No delivery will run it for 30d; after that it runs again.")
		_, _, stderr = e.answering("n\n", "complete", long)
		require.Contains(t, stderr, "No delivery will run it for 90d; after that it runs again.")
		require.Equal(t, "unknown", e.state(long))
		_, _, stderr = e.answering("n\n", "complete", long, "-retention", "7d")
		require.Contains(t, stderr, "No delivery will run it for 7d; after that it runs again.")
		require.Contains(t, stderr, "it is held for 90d, which is longer")

		require.Contains(t, e.ok("complete", short, "-yes"), "no delivery will run it for 30d; after that it runs again\n")
		require.Contains(t, e.ok("complete", long, "-yes"), "no delivery will run it for 90d; after that it runs again\n")
		require.Greater(t, e.object("complete", other, "-yes")["remaining_ms"], 3*thirtyDays)
		require.InDelta(t, thirtyDays, e.object("show", short)["remaining_ms"], 3600_000)
		require.Greater(t, e.object("show", long)["remaining_ms"], 3*thirtyDays)
		require.Greater(t, e.object("show", other)["remaining_ms"], 3*thirtyDays)
	})
}

// TestCompleteReplicas: what too few servers have is not told as done.
func TestCompleteReplicas(t *testing.T) {
	t.Parallel()
	e := onRedis(t)
	key := e.unknown(invoice("in_1"))
	e.fails(failed, "may be completed or not", "complete", key, "-yes", "-replicas", "1")
}

// TestCompleteChanged: whoever agreed to keep a key from running has not agreed
// to take the outcome away from a run that has begun since.
func TestCompleteChanged(t *testing.T) {
	t.Parallel()
	e := onMiniredis(t)
	key := digest(t, invoice("in_1"))
	code, _, stderr := semel.Call{Terminal: true, Stdin: typist(func() { e.claim(invoice("in_1")) })}.
		Run(t.Context(), "complete", key, "-redis", e.url)
	require.Equal(t, refused, code)
	require.Contains(t, stderr, "changed meanwhile: it is claimed")
	require.Equal(t, "claimed", e.state(key))
}
