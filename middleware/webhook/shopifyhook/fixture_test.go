package shopifyhook_test

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
	"github.com/semel-go/semel/middleware/webhook/shopifyhook"
	"github.com/semel-go/semel/middleware/webhook/webhooktest"
)

func TestMain(m *testing.M) {
	os.Exit(leaktest.Main(m, "semel/middleware/webhook", "semel/idempotency", "internal/keeper"))
}

const (
	secret = "hush"
	old    = "what-it-was-before"
	header = "X-Shopify-Hmac-Sha256"
)

const order = `{"id":820982911946154508,"email":"jon@example.com","total_price":"403.00","note":"caf\u00e9 \/"}`

// now is the time in these tests.
var now = time.Date(2025, 1, 1, 12, 0, 0, 0, time.UTC)

// open returns a Verifier.
func open(tb testing.TB, o shopifyhook.Options, secrets ...string) *shopifyhook.Verifier {
	tb.Helper()
	if len(secrets) == 0 {
		secrets = []string{secret}
	}
	v, err := shopifyhook.New(webhook.Secrets(secrets), o)
	require.NoError(tb, err)
	return v
}

// signer is that of one delivery of an order.
func signer() webhooktest.ShopifySigner {
	return webhooktest.Shopify(secret).ID("b54557e4").EventID("98880550").At(now)
}

// request returns a delivery of body.
func request(s webhooktest.ShopifySigner, body string) *http.Request {
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
func once(t *testing.T, v webhook.Verifier, o webhook.Options, handler http.Handler) func(r *http.Request) *httptest.ResponseRecorder {
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
	h := webhook.Once(guard, "orders", v, o)(handler)
	return func(r *http.Request) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
}
