package standardhook_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/webhooktest"
)

// FuzzHeaders: whatever the headers, Verify returns; it takes nothing that is
// not signed, and nothing that is long.
func FuzzHeaders(f *testing.F) {
	genuine := sign(signer(), body)
	stamp, list := genuine.Get("webhook-timestamp"), genuine.Get("webhook-signature")
	for _, s := range []string{list, "v1,", ",", " ", "v1a," + strings.Repeat("A", 88), strings.Repeat("v1, ", 1000)} {
		f.Add(id, stamp, s, "", body)
	}
	f.Add(id, stamp, list, list, body)
	f.Add("a.b", "1e9", list, "", "{")
	v := open(f, secret, webhooktest.PublicKey(private(1)))
	f.Fuzz(func(t *testing.T, msg, at, signatures, svix, text string) {
		h := http.Header{"Webhook-Id": {msg}, "Webhook-Timestamp": {at}, "Webhook-Signature": {signatures}, "Svix-Signature": {svix}}
		_, err := v.Verify(t.Context(), h, []byte(text))
		if err == nil {
			require.Equal(t, []string{id, stamp, body}, []string{msg, at, text})
			require.Contains(t, signatures+svix, strings.TrimRight(list, "="))
		}
		if max(len(msg), len(at), len(signatures), len(svix)) > 4096 {
			require.ErrorIs(t, err, webhook.ErrRefused)
		}
	})
}

// TestLongHeader: a header of a megabyte costs next to nothing. It runs alone,
// as counting allocations demands.
func TestLongHeader(t *testing.T) {
	v := open(t, secret)
	long := headers("webhook-signature", strings.Repeat("v1,AAAA ", 100_000))
	allocs := testing.AllocsPerRun(10, func() {
		if _, err := v.Verify(t.Context(), long, []byte(body)); reason(err) != webhook.Malformed {
			t.Error(err)
		}
	})
	require.Less(t, allocs, 20.0)
}

// BenchmarkVerify verifies an event of 5 KiB.
func BenchmarkVerify(b *testing.B) {
	text := `{"type":"invoice.paid","timestamp":"2025-01-01T00:00:00Z","data":{"lines":[` +
		strings.Repeat(`{"amount":100,"text":"a line"},`, 5<<10/31) + `0]}}`
	for name, tc := range map[string]struct {
		signer webhooktest.StandardSigner
		secret string
	}{
		"v1":  {signer(), secret},
		"v1a": {webhooktest.StandardKey(private(1)).At(now), webhooktest.PublicKey(private(1))},
	} {
		b.Run(name, func(b *testing.B) {
			v, h, body := open(b, tc.secret), sign(tc.signer, text), []byte(text)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := v.Verify(b.Context(), h, body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
