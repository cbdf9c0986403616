package githubhook_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/memstore"
	"github.com/semel-go/semel/internal/leaktest"
	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/githubhook"
	"github.com/semel-go/semel/middleware/webhook/webhooktest"
)

func TestMain(m *testing.M) {
	os.Exit(leaktest.Main(m, "semel/middleware/webhook", "semel/idempotency", "internal/keeper"))
}

const (
	secret = "It's a Secret to Everybody"
	old    = "what-it-was-before"
	header = "X-Hub-Signature-256"
)

const opened = `{"action":"opened","issue":{"id":7,"title":"a & b = <c>; 100 %"},"repository":{"id":1296269,"name":"hello"}}`

// open returns a Verifier.
func open(tb testing.TB, secrets ...string) *githubhook.Verifier {
	tb.Helper()
	if len(secrets) == 0 {
		secrets = []string{secret}
	}
	v, err := githubhook.New(webhook.Secrets(secrets), githubhook.Options{})
	require.NoError(tb, err)
	return v
}

// signer is that of one delivery of an event to a hook.
func signer() webhooktest.GitHubSigner {
	return webhooktest.GitHub(secret).ID("72d3162e-cc78-11e3-81ab-4c9367dc0958").Hook("292430182").Event("issues")
}

// request returns a delivery of body.
func request(s webhooktest.GitHubSigner, body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
	s.Sign(r, []byte(body))
	return r
}

// with returns h with one header set to other values.
func with(h http.Header, name string, values ...string) http.Header {
	h = h.Clone()
	h[name] = values
	return h
}

// event returns the one event of d.
func event(tb testing.TB, d webhook.Delivery, err error) webhook.Event {
	tb.Helper()
	require.NoError(tb, err)
	require.Len(tb, d.Events, 1)
	require.Empty(tb, d.Bindings)
	require.False(tb, d.Passthrough)
	return d.Events[0]
}

// reason returns why err refuses; "" if it does not.
func reason(err error) webhook.Reason {
	if refused, ok := errors.AsType[*webhook.RefusedError](err); ok {
		return refused.Reason
	}
	return ""
}

// once serves handler behind Once, in memory.
func once(t *testing.T, o webhook.Options, handler http.Handler) func(r *http.Request) *httptest.ResponseRecorder {
	t.Helper()
	store, err := memstore.New(memstore.Options{})
	require.NoError(t, err)
	guard, err := idempotency.New(store, idempotency.Options{})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(t, guard.Close(ctx))
		require.NoError(t, store.Close())
	})
	h := webhook.Once(guard, "builds", open(t), o)(handler)
	return func(r *http.Request) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
}
