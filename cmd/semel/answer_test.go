package main_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/middleware"
)

// TestShowAnswer: a recorded answer is shown as an answer, only if it is asked
// for, and cannot steer a terminal.
func TestShowAnswer(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		e.received("", "evt_1")
		show := []string{"show", "-part", "webhook", "-part", "acme", "-part", "billing", "-part", "", "-id", "evt_1"}
		text := e.ok(show...)
		require.Regexp(t, `(?m)^result +value, "http1", \d+ B$`, text)
		require.NotContains(t, text, "status ")
		require.NotContains(t, text, "application/json")
		require.Contains(t, e.ok(append(show, "-result")...), "\n  status      202\n"+
			`  header      "Content-Type: application/json"`+"\n"+
			`  header      "X-Evil: \x1b[2J"`+"\n"+
			`  body        "{\"ok\":true}\n"`+"\n")

		require.NotContains(t, e.object(show...)["result"], "http")
		result := e.object(append(show, "-result")...)["result"].(map[string]any)
		require.NotEmpty(t, result["data"])
		answer := result["http"].(map[string]any)
		require.EqualValues(t, 202, answer["status"])
		require.Equal(t, true, answer["whole"])
		require.Equal(t, []any{"application/json"}, answer["header"].(map[string]any)["Content-Type"])
		require.Equal(t, "eyJvayI6dHJ1ZX0K", answer["body"])
	})
}

// TestShowAnswerWithoutABody: of an answer that was not kept, the status is.
func TestShowAnswerWithoutABody(t *testing.T) {
	t.Parallel()
	e := onMiniredis(t)
	mw := middleware.Idempotency(e.guard, middleware.SharedScope(), middleware.IdempotencyOptions{MaxResponse: middleware.NoBody})
	post(t, mw, http.Header{"Idempotency-Key": {"k"}}, "{}", accepted)
	text := e.ok("show", "-part", "http", "-part", `"\x00shared"`, "-id", "k", "-result")
	require.Regexp(t, `(?m)^result +tombstone, "http1", \d+ B$`, text)
	require.Contains(t, text, "\n  status      202\n  body        not kept\n")
}

// TestShowAnswerTrailer: what followed the body is told apart from the header.
func TestShowAnswerTrailer(t *testing.T) {
	t.Parallel()
	e := onMiniredis(t)
	mw := middleware.Idempotency(e.guard, middleware.SharedScope(), middleware.IdempotencyOptions{})
	post(t, mw, http.Header{"Idempotency-Key": {"k"}}, "{}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "Sum")
		_, _ = w.Write([]byte("x"))
		w.Header().Set("Sum", "7")
	})
	text := e.ok("show", "-part", "http", "-part", `"\x00shared"`, "-id", "k", "-result")
	require.Contains(t, text, "\n"+`  trailer     "Sum: 7"`+"\n  body        \"x\"\n")
	require.NotContains(t, text, `header      "Sum`)
}

// TestShowDamagedAnswer: what calls itself an answer and is none is printed as
// the bytes that it is.
func TestShowDamagedAnswer(t *testing.T) {
	t.Parallel()
	e := onMiniredis(t)
	_, err := e.guard.Run(t.Context(), invoice("in_1"), idempotency.RunOptions{},
		func(context.Context) (idempotency.Result, error) {
			return idempotency.Result{Codec: "http1", Data: []byte("\x01no")}, nil
		})
	require.NoError(t, err)
	text := e.ok("show", "-scope", "invoice", "-id", "in_1", "-result")
	require.Contains(t, text, `"\x01no"`)
	require.NotContains(t, text, "status ")
}
