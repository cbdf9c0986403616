package squarehook_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/leaktest"
	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/squarehook"
	"github.com/semel-go/semel/middleware/webhook/webhooktest"
)

func TestMain(m *testing.M) {
	os.Exit(leaktest.Main(m, "semel/middleware/webhook", "semel/idempotency"))
}

const (
	endpoint = "https://shop.example/webhooks/square"
	secret   = "sQ-8Yk2_0aZ4bN6vXw1pLg"
	old      = "sQ-before_it_was_new00"
	header   = "X-Square-Hmacsha256-Signature"
)

const updated = `{"merchant_id":"ML9","location_id":"L1","type":"payment.updated","event_id":"6a8f5f28-54a1",
	"created_at":"2025-01-01T11:59:58.25Z","data":{"type":"payment","id":"pay_7","object":{"payment":{"id":"pay_7"}}}}`

// now is the time in these tests.
var now = time.Date(2025, 1, 1, 12, 0, 0, 0, time.UTC)

// open returns a Verifier whose clock stands at now.
func open(tb testing.TB, o squarehook.Options, secrets ...string) *squarehook.Verifier {
	tb.Helper()
	if o.Now == nil {
		o.Now = func() time.Time { return now }
	}
	if len(secrets) == 0 {
		secrets = []string{secret}
	}
	v, err := squarehook.New(endpoint, webhook.Secrets(secrets), o)
	require.NoError(tb, err)
	return v
}

// sign returns the headers of a delivery of body.
func sign(body string) http.Header {
	req := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
	webhooktest.Square(endpoint, secret).Sign(req, []byte(body))
	return req.Header
}

// event verifies a genuine delivery of body and returns its event.
func event(t *testing.T, v *squarehook.Verifier, body string) webhook.Event {
	t.Helper()
	d, err := v.Verify(t.Context(), sign(body), []byte(body))
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
