package adyenhook_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/memstore"
	"github.com/semel-go/semel/internal/leaktest"
	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/adyenhook"
	"github.com/semel-go/semel/middleware/webhook/webhooktest"
)

func TestMain(m *testing.M) {
	os.Exit(leaktest.Main(m, "semel/middleware/webhook", "semel/idempotency", "internal/keeper"))
}

const (
	secret = "c0ffee00112233445566778899aabbccddeeff00112233445566778899aabbcc"
	old    = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
)

// The items of these tests: an authorisation, and the capture of it.
const (
	authorised = `{"NotificationRequestItem":{"additionalData":{"expiryDate":"03/2030"},"amount":{"currency":"EUR","value":1999},` +
		`"eventCode":"AUTHORISATION","eventDate":"2025-01-01T11:59:58+01:00","merchantAccountCode":"ShopECOM",` +
		`"merchantReference":"INV:7","paymentMethod":"visa","pspReference":"PSP7","reason":"","success":"true"}}`
	captured = `{"NotificationRequestItem":{"amount":{"currency":"EUR","value":1999},"eventCode":"CAPTURE",` +
		`"merchantAccountCode":"ShopECOM","merchantReference":"INV:7","originalReference":"PSP7","pspReference":"PSP8","success":"true"}}`
)

// created is a body that is signed in the header.
const created = `{"type":"balancePlatform.transfer.created","environment":"test","timestamp":"2025-01-01T12:00:00Z","data":{"id":"T7","sequenceNumber":1}}`

// envelope returns a standard body with the items, not signed.
func envelope(items ...string) string {
	return `{"live":"false","notificationItems":[` + strings.Join(items, ",") + `]}`
}

// signed returns envelope, signed.
func signed(items ...string) string {
	return string(webhooktest.Adyen(secret).Body([]byte(envelope(items...))))
}

// inHeader returns the headers of a delivery of body in the other form.
func inHeader(body string) http.Header {
	r := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
	webhooktest.AdyenHeader(secret).Sign(r, []byte(body))
	return r.Header
}

// open returns a Verifier.
func open(tb testing.TB, o adyenhook.Options, secrets ...string) *adyenhook.Verifier {
	tb.Helper()
	if len(secrets) == 0 {
		secrets = []string{secret}
	}
	v, err := adyenhook.New(webhook.Secrets(secrets), o)
	require.NoError(tb, err)
	return v
}

// event verifies a genuine delivery and returns its one event.
func event(t *testing.T, v *adyenhook.Verifier, h http.Header, body string) webhook.Event {
	t.Helper()
	d, err := v.Verify(t.Context(), h, []byte(body))
	require.NoError(t, err)
	require.Len(t, d.Events, 1)
	require.Empty(t, d.Bindings)
	require.False(t, d.Passthrough)
	return d.Events[0]
}

// reason returns why err refuses; "" if it does not.
func reason(err error) webhook.Reason {
	if refused, ok := errors.AsType[*webhook.RefusedError](err); ok {
		return refused.Reason
	}
	return ""
}

// once serves handler behind Once, in memory, and returns what delivers a body.
func once(t *testing.T, o adyenhook.Options, handler http.Handler) func(body string) *httptest.ResponseRecorder {
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
	h := webhook.Once(guard, "payments", open(t, o), webhook.Options{})(handler)
	return func(body string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)))
		return w
	}
}
