package hmachook_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/hmachook"
)

// FuzzHeaders: whatever the headers, Verify returns; it takes nothing that is
// not signed, and nothing that is long.
func FuzzHeaders(f *testing.F) {
	genuine := sign(ledgerSigner(secret), body)
	mac, at := genuine.Get("X-Ledger-Signature"), genuine.Get("X-Ledger-Time")
	f.Add(mac, at, "ev-1", body)
	f.Add("sha256=", "+1", ".", "{")
	f.Add(strings.ToUpper(mac), at+" ", strings.Repeat("a", 5000), "")
	v := open(f, ledger(), secret)
	f.Fuzz(func(t *testing.T, signature, stamp, id, text string) {
		h := http.Header{"X-Ledger-Signature": {signature}, "X-Ledger-Time": {stamp}, "X-Ledger-Id": {id}}
		_, err := v.Verify(t.Context(), h, []byte(text))
		if err == nil {
			require.Equal(t, []string{at, "ev-1", body}, []string{stamp, id, text})
			require.True(t, strings.EqualFold(signature, mac))
		}
		if max(len(signature), len(stamp), len(id)) > 4096 {
			require.ErrorIs(t, err, webhook.ErrRefused)
		}
	})
}

// FuzzContent: New takes a template or refuses it, and what it takes needs the
// body.
func FuzzContent(f *testing.F) {
	for _, template := range []string{"{body}", "{id}.{timestamp}.{body}", "{", "}", "{body}{body}", "{id}{body}", "{body", "v0:{timestamp}:{body}"} {
		f.Add(template)
	}
	f.Fuzz(func(t *testing.T, template string) {
		o := hmachook.Options{Header: "Signature", Content: template, IDHeader: "Id"}
		if strings.Contains(template, "{timestamp}") {
			o.TimestampHeader = "Time"
		}
		_, err := hmachook.New("fuzz", webhook.Secrets{secret}, o)
		if err == nil && template != "" {
			require.Contains(t, template, "{body}")
		}
	})
}

// TestLongHeader: a header of a megabyte costs next to nothing. It runs alone,
// as counting allocations demands.
func TestLongHeader(t *testing.T) {
	v := open(t, ledger(), secret)
	long := with(sign(ledgerSigner(secret), body), "X-Ledger-Signature", strings.Repeat("a", 1<<20))
	allocs := testing.AllocsPerRun(10, func() {
		if _, err := v.Verify(t.Context(), long, []byte(body)); reason(err) != webhook.Malformed {
			t.Error(err)
		}
	})
	require.Less(t, allocs, 20.0)
}

// BenchmarkVerify verifies an event of 5 KiB.
func BenchmarkVerify(b *testing.B) {
	text := `{"event":{"id":"ev-1","type":"x"},"lines":[` + strings.Repeat(`{"amount":100,"text":"a line"},`, 5<<10/31) + `0]}`
	v, h, body := open(b, ledger(), secret), sign(ledgerSigner(secret), text), []byte(text)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.Verify(b.Context(), h, body); err != nil {
			b.Fatal(err)
		}
	}
}
