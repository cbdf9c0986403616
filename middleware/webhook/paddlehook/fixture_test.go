package paddlehook_test

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
	"github.com/semel-go/semel/middleware/webhook/paddlehook"
	"github.com/semel-go/semel/middleware/webhook/webhooktest"
)

func TestMain(m *testing.M) {
	os.Exit(leaktest.Main(m, "semel/middleware/webhook", "semel/idempotency"))
}

const (
	secret = "pdl_ntfset_01k_4d9QxTz"
	old    = "pdl_ntfset_01a_before99"
	header = "Paddle-Signature"
)

const completed = `{"data":{"id":"txn_7","status":"completed"},"event_id":"evt_01k","event_type":"transaction.completed",
	"occurred_at":"2025-01-01T11:59:58.25Z","notification_id":"ntf_01k"}`

// now is the time in these tests.
var now = time.Date(2025, 1, 1, 12, 0, 0, 0, time.UTC)

// open returns a Verifier whose clock stands at now.
func open(tb testing.TB, o paddlehook.Options, secrets ...string) *paddlehook.Verifier {
	tb.Helper()
	if o.Now == nil {
		o.Now = func() time.Time { return now }
	}
	if len(secrets) == 0 {
		secrets = []string{secret}
	}
	v, err := paddlehook.New(webhook.Secrets(secrets), o)
	require.NoError(tb, err)
	return v
}

// sign returns the headers of a delivery of body that is signed at t, with each
// of the secrets, or with secret alone.
func sign(body string, t time.Time, secrets ...string) http.Header {
	if len(secrets) == 0 {
		secrets = []string{secret}
	}
	req := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
	webhooktest.Paddle(secrets[0], secrets[1:]...).At(t).Sign(req, []byte(body))
	return req.Header
}

// event verifies a genuine delivery of body and returns its event.
func event(t *testing.T, v *paddlehook.Verifier, body string) webhook.Event {
	t.Helper()
	d, err := v.Verify(t.Context(), sign(body, now), []byte(body))
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
