package main_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	semel "github.com/semel-go/semel/cmd/semel"
	"github.com/semel-go/semel/idempotency"
)

func TestComplete(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		key := e.unknown(invoice("in_1"))
		e.fails(refused, "give -yes", "complete", key)
		require.Equal(t, "unknown", e.state(key))
		require.Equal(t, "completed, without a result, for 7d\n", e.ok("complete", key, "-yes", "-retention", "7d"))
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
		require.Equal(t, map[string]any{"key": key, "done": true, "state": "absent"}, object)
		require.False(t, e.runs(invoice("in_1")))
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
