package paypalhook_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/paypalhook"
)

// FuzzHeaders: whatever the headers, Verify returns, takes nothing that is not
// signed, and asks for nothing that the policy forbids.
func FuzzHeaders(f *testing.F) {
	p, _ := newPayPal(f)
	genuine := sign(p, body)
	id, at, sig, url := genuine.Get("PAYPAL-TRANSMISSION-ID"), genuine.Get("PAYPAL-TRANSMISSION-TIME"), genuine.Get("PAYPAL-TRANSMISSION-SIG"), genuine.Get("PAYPAL-CERT-URL")
	f.Add(id, at, sig, url, "SHA256withRSA")
	f.Add(id+"|"+at, at, sig, url+"/..", "SHA1withRSA")
	f.Add("", "2025-01-01T12:00:00,5Z", strings.Repeat("A", 344), certs+"%2e", "")
	f.Add("|", "9999-12-31T23:59:59+23:59", "====", "https://api.paypal.com@x/", "SHA256withRSA")
	v := open(f, p, func(o *paypalhook.Options) {
		o.Fetch = always("", nil)
	})
	genuinely := open(f, p, nil)
	f.Fuzz(func(t *testing.T, msg, stamp, signature, cert, algo string) {
		h := http.Header{
			"Paypal-Transmission-Id": {msg}, "Paypal-Transmission-Time": {stamp}, "Paypal-Transmission-Sig": {signature},
			"Paypal-Cert-Url": {cert}, "Paypal-Auth-Algo": {algo},
		}
		_, err := v.Verify(t.Context(), h, []byte(body))
		require.ErrorIs(t, err, webhook.ErrRefused)
		if reason(err) == webhook.NoMatch { // it was asked for
			require.Regexp(t, `^https://api(-m)?\.paypal\.com/v1/notifications/certs/[\w.-]+(/[\w.-]+)*$`, cert)
			require.NotContains(t, cert, "/../")
		}
		if _, err := genuinely.Verify(t.Context(), h, []byte(body)); err == nil {
			require.Equal(t, []string{id, at, sig, "SHA256withRSA"}, []string{msg, stamp, signature, algo})
		}
	})
}

// FuzzCertificate: whatever is at a certificate's URL, it is refused, unless a
// root vouches for it.
func FuzzCertificate(f *testing.F) {
	p, _ := newPayPal(f)
	h := sign(p, body)
	good, err := p.Options().Fetch(f.Context(), h.Get("PAYPAL-CERT-URL"))
	require.NoError(f, err)
	f.Add(good)
	f.Add(good[:len(good)/2])
	f.Add([]byte("-----BEGIN CERTIFICATE-----\nMAAA\n-----END CERTIFICATE-----\n"))
	f.Add([]byte("-----BEGIN CERTIFICATE-----\nA: b\n\nMAAA\n-----END CERTIFICATE-----\n-----BEGIN"))
	f.Fuzz(func(t *testing.T, file []byte) {
		v := open(t, p, func(o *paypalhook.Options) { o.Fetch = always(string(file), nil) })
		if _, err := v.Verify(t.Context(), h, []byte(body)); err != nil {
			require.Equal(t, webhook.NoMatch, reason(err))
		} else {
			require.Contains(t, string(file), "-----BEGIN CERTIFICATE-----")
		}
	})
}

// FuzzBody: whatever is signed, Verify returns an event with an id, or says why
// not; and what is read again is the same as itself.
func FuzzBody(f *testing.F) {
	p, v := newPayPal(f)
	again := open(f, p, func(o *paypalhook.Options) {
		o.Reread = echo
	})
	for _, s := range []string{body, "", "{", "[]", `{"id":"a","id":"b"}`, `{"id":"\ud800"}`, `{"id":"a","resource":{"invoice":[{}]}}`, `{"id":"a","x":{"y":1,"y":2}}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h := sign(p, text)
		d, err := v.Verify(t.Context(), h, []byte(text))
		if err == nil {
			require.Len(t, d.Events, 1)
			require.NotEmpty(t, d.Events[0].ID)
		} else if reason(err) != webhook.Malformed {
			require.ErrorIs(t, err, webhook.ErrNoEvent)
		}
		if _, second := again.Verify(t.Context(), h, []byte(text)); err != nil {
			require.Error(t, second)
		} else if second != nil {
			require.Equal(t, webhook.Malformed, reason(second))
		}
	})
}

// TestLongHeader: a header of a megabyte costs next to nothing. It runs alone,
// as counting allocations demands.
func TestLongHeader(t *testing.T) {
	p, v := newPayPal(t)
	for _, name := range []string{"Paypal-Transmission-Id", "Paypal-Transmission-Sig", "Paypal-Cert-Url"} {
		h, text := with(sign(p, body), name, strings.Repeat("A", 1<<20)), []byte(body)
		allocs := testing.AllocsPerRun(10, func() {
			if _, err := v.Verify(t.Context(), h, text); reason(err) != webhook.Malformed {
				t.Error(err)
			}
		})
		require.Less(t, allocs, 20.0, name)
	}
}

// BenchmarkVerify verifies an event of 5 KiB whose certificate is known.
func BenchmarkVerify(b *testing.B) {
	p, v := newPayPal(b)
	text := []byte(`{"id":"WH-1","event_type":"PAYMENT.SALE.COMPLETED","create_time":"2025-01-01T00:00:00Z","resource":{"id":"1","items":[` +
		strings.Repeat(`{"amount":100,"text":"a line"},`, 5<<10/31) + `0]}}`)
	h := sign(p, string(text))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.Verify(b.Context(), h, text); err != nil {
			b.Fatal(err)
		}
	}
}
