package hmachook_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/hmachook"
	"github.com/semel-go/semel/middleware/webhook/webhooktest"
)

const (
	secret = "s3cr3t-of-the-ledger"
	old    = "what-it-was-before"
	body   = `{"event":{"id":"ev-1","type":"entry.booked"},"amount":7}`
)

// now is the time in these tests.
var now = time.Date(2025, 1, 1, 12, 0, 0, 0, time.UTC)

// ledger is a sender that signs all there is.
func ledger() hmachook.Options {
	return hmachook.Options{
		Header:          "X-Ledger-Signature",
		Prefix:          "sha256=",
		Content:         "{id}.{timestamp}.{body}",
		TimestampHeader: "X-Ledger-Time",
		IDHeader:        "x-ledger-id",
		TypeField:       "event.type",
	}
}

// ledgerSigner signs for it.
func ledgerSigner(secret string) webhooktest.HMACSigner {
	return webhooktest.HMAC(secret, webhooktest.HMACOptions{
		Header:          "x-ledger-signature",
		Prefix:          "sha256=",
		TimestampHeader: "x-ledger-time",
		IDHeader:        "x-ledger-id",
		Content: func(at, id string, body []byte) []byte {
			return []byte(id + "." + at + "." + string(body))
		},
	}).At(now).ID("ev-1")
}

// simple is a sender that signs the body alone.
func simple() hmachook.Options { return hmachook.Options{Header: "Signature", IDField: "event.id"} }

// simpleSigner signs for it.
func simpleSigner() webhooktest.HMACSigner {
	return webhooktest.HMAC(secret, webhooktest.HMACOptions{Header: "signature"})
}

// open returns a Verifier whose clock stands at now.
func open(tb testing.TB, o hmachook.Options, secrets ...string) *hmachook.Verifier {
	tb.Helper()
	o.Now = func() time.Time { return now }
	v, err := hmachook.New("ledger", webhook.Secrets(secrets), o)
	require.NoError(tb, err)
	return v
}

// sign returns the headers of a delivery.
func sign(s webhooktest.HMACSigner, body string) http.Header {
	req := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
	s.Sign(req, []byte(body))
	return req.Header
}

// with returns h with one header set to another value.
func with(h http.Header, name, value string) http.Header {
	h = h.Clone()
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
