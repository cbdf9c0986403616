package stripehook_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/stripehook"
	"github.com/semel-go/semel/middleware/webhook/webhooktest"
)

const (
	secret = "whsec_5bF0c2a9d1"
	old    = "whsec_0000beef"
	header = "Stripe-Signature"
)

const paid = `{"id":"evt_1Q","object":"event","account":"acct_9","created":1735689600,
	"data":{"object":{"id":"in_7","object":"invoice"}},"type":"invoice.paid"}`

// now is the time in these tests.
var now = time.Date(2025, 1, 1, 12, 0, 0, 0, time.UTC)

// open returns a Verifier whose clock stands at now.
func open(tb testing.TB, o stripehook.Options, secrets ...string) *stripehook.Verifier {
	tb.Helper()
	if o.Now == nil {
		o.Now = func() time.Time { return now }
	}
	if len(secrets) == 0 {
		secrets = []string{secret}
	}
	v, err := stripehook.New(webhook.Secrets(secrets), o)
	require.NoError(tb, err)
	return v
}

// sign returns the headers of a delivery of body that is signed at t.
func sign(body string, t time.Time) http.Header {
	req := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
	webhooktest.Stripe(secret).At(t).Sign(req, []byte(body))
	return req.Header
}

// event verifies a genuine delivery of body and returns its event.
func event(t *testing.T, v *stripehook.Verifier, body string) webhook.Event {
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
