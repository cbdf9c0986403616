package githubhook_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
)

// counted returns a handler that counts its runs.
func counted(runs *atomic.Int64) http.Handler {
	return webhook.Handle(func(context.Context, webhook.Event) error { runs.Add(1); return nil })
}

// replayed reports whether w is a recorded answer.
func replayed(w *httptest.ResponseRecorder) bool {
	return w.Header().Get("Idempotent-Replayed") == "true"
}

// TestTwoHooks: GitHub gives one id to an event's deliveries to several hooks.
// Each runs, and a redelivery of either does not.
func TestTwoHooks(t *testing.T) {
	t.Parallel()
	var runs atomic.Int64
	deliver := once(t, webhook.Options{}, counted(&runs))
	for _, again := range []bool{false, true} {
		for hook, body := range map[string]string{"1": opened, "2": `{"action":"opened","installation":{"id":3}}`, "3": opened} {
			w := deliver(request(signer().Hook(hook), body))
			require.Equal(t, http.StatusOK, w.Code)
			require.Equal(t, again, replayed(w), hook)
		}
	}
	require.EqualValues(t, 3, runs.Load())
}

// TestBindBody: a captured body runs again under a fresh id, as from another
// hook and in another's place; BindBody stops that.
func TestBindBody(t *testing.T) {
	t.Parallel()
	for _, bind := range []bool{false, true} {
		var runs atomic.Int64
		deliver := once(t, webhook.Options{BindBody: bind}, counted(&runs))
		want := http.StatusOK
		if bind {
			want = http.StatusUnauthorized
		}
		require.Equal(t, http.StatusOK, deliver(request(signer(), opened)).Code)
		require.Equal(t, want, deliver(request(signer().ID("fresh"), opened)).Code)
		require.Equal(t, want, deliver(request(signer().Hook("4"), opened)).Code)
		require.True(t, replayed(deliver(request(signer(), opened))), "the redelivery")
		const later = `{"action":"closed"}`
		require.Equal(t, want, deliver(request(signer().ID("later"), opened)).Code)
		genuine := deliver(request(signer().ID("later"), later))
		require.Equal(t, http.StatusOK, genuine.Code)
		require.Equal(t, !bind, replayed(genuine), "what came in its place")
	}
}

// TestPing: the ping of a new hook is an event.
func TestPing(t *testing.T) {
	t.Parallel()
	var kind string
	deliver := once(t, webhook.Options{}, webhook.Handle(func(_ context.Context, e webhook.Event) error { kind = e.Type; return nil }))
	require.Equal(t, http.StatusOK, deliver(request(signer().Event("ping"), `{"zen":"Keep it logically awesome.","hook_id":1}`)).Code)
	require.Equal(t, "ping", kind)
}

// TestHandlerSeesJSON: of a form the handler reads the JSON in it, in its own
// types and as its request's body.
func TestHandlerSeesJSON(t *testing.T) {
	t.Parallel()
	deliver := once(t, webhook.Options{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		got, err2 := webhook.Decode[struct{ Action string }](r.Context())
		if err != nil || err2 != nil || string(body) != opened || got.Action != "opened" {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		_, _ = io.WriteString(w, r.Header.Get("Content-Type"))
	}))
	w := deliver(request(signer().Form(), opened))
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, "application/json", w.Body.String())
	require.True(t, replayed(deliver(request(signer().Form(), opened))))
}

// TestLargeBody: 25 MiB pass, and not a byte more.
func TestLargeBody(t *testing.T) {
	t.Parallel()
	var runs atomic.Int64
	deliver := once(t, webhook.Options{}, counted(&runs))
	const frame = `{"repository":{"id":1},"text":""}`
	body := frame[:len(frame)-2] + strings.Repeat("x", 25<<20-len(frame)) + frame[len(frame)-2:]
	require.Len(t, body, 25<<20)
	require.Equal(t, http.StatusOK, deliver(request(signer(), body)).Code)
	require.Equal(t, http.StatusRequestEntityTooLarge, deliver(request(signer().ID("d-2"), body+" ")).Code)
	require.EqualValues(t, 1, runs.Load())
}
