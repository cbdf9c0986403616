package standardhook_test

import (
	"crypto/ed25519"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/standardhook"
	"github.com/semel-go/semel/middleware/webhook/webhooktest"
)

const (
	secret = "whsec_bGV0IGl0IGJlIGRvbmUgb25jZSBhbmQgb25jZSBvbmx5"
	old    = "whsec_YmVmb3JlIHRoZSBuZXcgb25lIHRoZXJlIHdhcyB0aGlz"
	body   = `{"type":"user.created","timestamp":"2025-01-01T11:59:58.25Z","data":{"id":"u_1"}}`
	id     = "msg_2aB"
)

// now is the time in these tests.
var now = time.Date(2025, 1, 1, 12, 0, 0, 0, time.UTC)

// private returns the sender's key number n.
func private(n byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(append(make([]byte, 31), n))
}

// open returns a Verifier whose clock stands at now.
func open(tb testing.TB, secrets ...string) *standardhook.Verifier {
	tb.Helper()
	v, err := standardhook.New(webhook.Secrets(secrets), standardhook.Options{Now: func() time.Time { return now }})
	require.NoError(tb, err)
	return v
}

// signer signs at now, with an id that is always the same.
func signer() webhooktest.StandardSigner { return webhooktest.Standard(secret).At(now).ID(id) }

// sign returns the headers of a delivery.
func sign(s webhooktest.StandardSigner, body string) http.Header {
	req := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
	s.Sign(req, []byte(body))
	return req.Header
}

// headers returns a delivery's headers, of the family webhook-, with one of
// them set to another value.
func headers(name, value string) http.Header {
	h := sign(signer(), body)
	h.Set(name, value)
	return h
}

// reason returns why err refuses; "" if it does not.
func reason(err error) webhook.Reason {
	if refused, ok := errors.AsType[*webhook.RefusedError](err); ok {
		return refused.Reason
	}
	return ""
}
