package paypalhook_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/paypalhook"
)

// always returns a Fetch with one answer.
func always(file string, err error) func(context.Context, string) ([]byte, error) {
	return func(context.Context, string) ([]byte, error) { return []byte(file), err }
}

// TestURLs: what an attacker may name is never asked for.
func TestURLs(t *testing.T) {
	t.Parallel()
	p, _ := newPayPal(t)
	var fetched atomic.Int64
	v := open(t, p, func(o *paypalhook.Options) {
		o.Fetch = func(context.Context, string) ([]byte, error) {
			fetched.Add(1)
			return nil, nil
		}
	})
	h := sign(p, body)
	for _, url := range []string{
		"http://api.paypal.com/v1/notifications/certs/CERT-1",
		"HTTPS://api.paypal.com/v1/notifications/certs/CERT-1",
		"ftp://api.paypal.com/v1/notifications/certs/CERT-1",
		"file:///v1/notifications/certs/CERT-1",
		"//api.paypal.com/v1/notifications/certs/CERT-1",
		"/v1/notifications/certs/CERT-1",
		"api.paypal.com/v1/notifications/certs/CERT-1",
		"https:/api.paypal.com/v1/notifications/certs/CERT-1",
		"https:api.paypal.com/v1/notifications/certs/CERT-1",
		"https:///v1/notifications/certs/CERT-1",
		" https://api.paypal.com/v1/notifications/certs/CERT-1",
		"https://evilpaypal.com/v1/notifications/certs/CERT-1",
		"https://api.evilpaypal.com/v1/notifications/certs/CERT-1",
		"https://paypal.com/v1/notifications/certs/CERT-1",
		"https://www.paypal.com/v1/notifications/certs/CERT-1",
		"https://api.paypal.com.evil/v1/notifications/certs/CERT-1",
		"https://evil.api.paypal.com/v1/notifications/certs/CERT-1",
		"https://api.sandbox.paypal.com/v1/notifications/certs/CERT-1",
		"https://api-m.sandbox.paypal.com/v1/notifications/certs/CERT-1",
		"https://API.paypal.com/v1/notifications/certs/CERT-1",
		"https://api.paypal.com./v1/notifications/certs/CERT-1",
		"https://api.pаypal.com/v1/notifications/certs/CERT-1", // a Cyrillic a
		"https://api.xn--pypal-4ve.com/v1/notifications/certs/CERT-1",
		"https://api。paypal。com/v1/notifications/certs/CERT-1", // ideographic full stops
		"https://%61pi.paypal.com/v1/notifications/certs/CERT-1",
		"https://api.paypal.com@evil.example/v1/notifications/certs/CERT-1",
		"https://user@api.paypal.com/v1/notifications/certs/CERT-1",
		"https://user:pw@api.paypal.com/v1/notifications/certs/CERT-1",
		"https://api.paypal.com\\@evil.example/v1/notifications/certs/CERT-1",
		"https://evil.example\\.api.paypal.com/v1/notifications/certs/CERT-1",
		"https://evil.example#api.paypal.com/v1/notifications/certs/CERT-1",
		"https://api.paypal.com:443/v1/notifications/certs/CERT-1",
		"https://api.paypal.com:/v1/notifications/certs/CERT-1",
		"https://api.paypal.com:6379/v1/notifications/certs/CERT-1",
		"https://127.0.0.1/v1/notifications/certs/CERT-1",
		"https://[::1]/v1/notifications/certs/CERT-1",
		"https://2130706433/v1/notifications/certs/CERT-1",
		"https://169.254.169.254/v1/notifications/certs/CERT-1",
		"https://localhost/v1/notifications/certs/CERT-1",
		certs + "CERT-1?x=y",
		certs + "CERT-1?",
		certs + "CERT-1#x",
		certs + "CERT-1;x",
		certs + "CERT-1\x00",
		certs + "CERT-1\n",
		certs + "CERT-1 ",
		certs + "CÉRT-1",
		certs + "\\CERT-1",
		certs + "../certs-of-others",
		certs + "..",
		certs + ".",
		certs + "a/../b",
		certs + "a/./b",
		certs + "a//b",
		certs + "/CERT-1",
		certs + "CERT-1/",
		certs + "CERT-1/..",
		certs + "%2e%2e/webhooks",
		certs + "..%2fwebhooks",
		certs + "CERT%2D1",
		certs,
		"https://api.paypal.com/v1/notifications/certs",
		"https://api.paypal.com/v1/notifications/certsCERT-1",
		"https://api.paypal.com/v1/notifications/test",
		"https://api.paypal.com/v1/notifications/Certs/CERT-1",
		"https://api.paypal.com//v1/notifications/certs/CERT-1",
		"https://api.paypal.com/v1/oauth2/v1/notifications/certs/CERT-1",
		"https://api.paypal.com/",
		"https://api.paypal.com",
		"https://",
	} {
		_, err := v.Verify(t.Context(), with(h, "Paypal-Cert-Url", url), []byte(body))
		require.Equal(t, webhook.Malformed, reason(err), url)
		require.ErrorContains(t, err, "Paypal-Cert-Url")
	}
	require.Zero(t, fetched.Load())

	for i, url := range []string{
		certs + "CERT-360caa42-fca2a594-a5cafa77",
		"https://api-m.paypal.com/v1/notifications/certs/CERT-1",
		certs + "v2/CERT_1.pem",
	} {
		_, err := v.Verify(t.Context(), with(h, "Paypal-Cert-Url", url), []byte(body))
		require.Equal(t, webhook.NoMatch, reason(err), "it is asked for, and is not one")
		require.EqualValues(t, i+1, fetched.Load(), url)
	}
}
