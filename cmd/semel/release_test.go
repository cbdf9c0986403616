package main_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	semel "github.com/semel-go/semel/cmd/semel"
)

func TestRelease(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		key, nonce := e.claim(invoice("in_1"))
		require.False(t, e.runs(invoice("in_1")))
		const other = "00000000000000000000000000000000"
		e.fails(refused, "claimed by another run", "release", key, other, "-yes")
		e.fails(misused, "too many arguments", "release", key, nonce, "-nonce", nonce)
		e.fails(refused, "give -yes", "release", key, nonce)
		code, _, stderr := e.answering("n\n", "release", key, nonce)
		require.Equal(t, refused, code)
		require.Contains(t, stderr, "is claimed. Its run may be under way")
		require.Equal(t, "claimed", e.state(key))

		require.Equal(t, "released\n", e.ok("release", key, nonce, "-yes"))
		require.Equal(t, "free", e.state(key))
		e.fails(refused, "free already", "release", key, nonce, "-yes")
		require.True(t, e.runs(invoice("in_1")))
		e.fails(refused, "only forget", "release", key, nonce, "-yes")
		e.fails(notFound, "nothing is known", "release", digest(t, invoice("no")), nonce, "-yes")
	})
}

// TestReleaseUnknown ends an unknown outcome so that it runs again.
func TestReleaseUnknown(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		key := e.unknown(invoice("in_1"))
		require.False(t, e.runs(invoice("in_1")))
		nonce := e.object("show", key)["nonce"].(string)
		object := e.object("release", "-scope", "invoice", "-id", "in_1", "-nonce", nonce, "-yes")
		require.Equal(t, map[string]any{"key": key, "done": true, "state": "unknown"}, object)
		require.True(t, e.runs(invoice("in_1")))
	})
}

// TestReleaseChanged: the nonce names the run that may be followed. One that came
// after it, and whose outcome is unknown now, is not meant.
func TestReleaseChanged(t *testing.T) {
	t.Parallel()
	e := onMiniredis(t)
	key, nonce := e.claim(invoice("in_1"))
	code, _, stderr := semel.Call{Terminal: true, Stdin: typist(func() {
		e.ok("forget", key, "-yes", "-no-wait")
		e.unknown(invoice("in_1"))
	})}.Run(t.Context(), "release", key, nonce, "-redis", e.url)
	require.Equal(t, refused, code)
	require.Contains(t, stderr, "changed meanwhile: it is unknown")
	require.Equal(t, "unknown", e.state(key))
}
