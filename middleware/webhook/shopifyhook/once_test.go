package shopifyhook_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/shopifyhook"
)

// counted returns a handler that counts its runs.
func counted(runs *atomic.Int64) http.Handler {
	return webhook.Handle(func(context.Context, webhook.Event) error { runs.Add(1); return nil })
}

// replayed reports whether w is a recorded answer.
func replayed(w *httptest.ResponseRecorder) bool {
	return w.Header().Get("Idempotent-Replayed") == "true"
}

// TestWrongSignature: Shopify's checks want 401 for it, whatever else is wrong.
func TestWrongSignature(t *testing.T) {
	t.Parallel()
	var runs atomic.Int64
	deliver := once(t, open(t, shopifyhook.Options{}), webhook.Options{}, counted(&runs))
	for name, change := range map[string]func(h http.Header){
		"wrong":            func(h http.Header) { h.Set(header, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=") },
		"none":             func(h http.Header) { h.Del(header) },
		"not base64":       func(h http.Header) { h.Set(header, "x") },
		"and no topic":     func(h http.Header) { h.Set(header, "x"); h.Del("X-Shopify-Topic") },
		"another's secret": func(h http.Header) { h.Set(header, "hMTq0K2x7oyOjoBwGYeTj5oxfnaVYXzbanUG9aajpKI=") },
		"another's shop":   func(h http.Header) { h.Set("X-Shopify-Shop-Domain", "other.myshopify.com") },
	} {
		r := request(signer(), `{"shop_domain":"example.myshopify.com"}`)
		change(r.Header)
		require.Equal(t, http.StatusUnauthorized, deliver(r).Code, name)
	}
	require.Zero(t, runs.Load())
}

// TestSubscriptions: two subscriptions to one topic are two events by the
// webhook's id, and one by the event's; two shops are always two.
func TestSubscriptions(t *testing.T) {
	t.Parallel()
	for kind, want := range map[shopifyhook.IDKind]int64{shopifyhook.ByWebhook: 3, shopifyhook.ByEvent: 2} {
		var runs atomic.Int64
		deliver := once(t, open(t, shopifyhook.Options{ID: kind}), webhook.Options{}, counted(&runs))
		for range 2 {
			for _, s := range []string{"w-1", "w-2"} {
				require.Equal(t, http.StatusOK, deliver(request(signer().ID(s), order)).Code)
			}
			require.Equal(t, http.StatusOK, deliver(request(signer().Shop("other.myshopify.com"), order)).Code)
		}
		require.Equal(t, want, runs.Load())
	}
}

// TestBindBody: a captured body runs again under a fresh id, and as another
// shop's; BindBody stops that.
func TestBindBody(t *testing.T) {
	t.Parallel()
	for _, bind := range []bool{false, true} {
		var runs atomic.Int64
		deliver := once(t, open(t, shopifyhook.Options{}), webhook.Options{BindBody: bind}, counted(&runs))
		want, ran := http.StatusOK, int64(3)
		if bind {
			want, ran = http.StatusUnauthorized, 1
		}
		require.Equal(t, http.StatusOK, deliver(request(signer(), order)).Code)
		require.Equal(t, want, deliver(request(signer().ID("fresh"), order)).Code)
		require.Equal(t, want, deliver(request(signer().Shop("other.myshopify.com"), order)).Code)
		require.True(t, replayed(deliver(request(signer(), order))), "the redelivery")
		require.Equal(t, ran, runs.Load())
	}
}
