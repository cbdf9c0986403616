package slackhook_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/slackhook"
)

// FuzzHeaders: whatever the headers, Verify returns; it takes nothing that is
// not signed, and nothing that is long.
func FuzzHeaders(f *testing.F) {
	genuine := request(signer(), mention).Header
	mac, at := genuine.Get(header), genuine.Get(stamp)
	f.Add(mac, at, "1", mention)
	f.Add("v0=", "+1", "x", "{")
	f.Add(strings.ToUpper(mac), at+" ", strings.Repeat("9", 5000), command)
	v := open(f, slackhook.Options{})
	f.Fuzz(func(t *testing.T, signature, timestamp, retry, body string) {
		h := http.Header{header: {signature}, stamp: {timestamp}, "X-Slack-Retry-Num": {retry}}
		_, err := v.Verify(t.Context(), h, []byte(body))
		if err == nil {
			require.Equal(t, []string{at, mention}, []string{timestamp, body})
			require.True(t, strings.EqualFold(signature, mac))
		}
		if max(len(signature), len(timestamp)) > 4096 {
			require.ErrorIs(t, err, webhook.ErrRefused)
		}
	})
}

// FuzzBody: whatever a signed body holds, Verify returns, and what it takes has
// an id or passes through.
func FuzzBody(f *testing.F) {
	for _, body := range []string{mention, command, interaction(click), "", "{", "payload=%7B", "ssl_check=1", `{"type":"url_verification"}`, "a=1;b", "[[[["} {
		f.Add(body)
	}
	v := open(f, slackhook.Options{OncePerMessage: []string{"message"}})
	f.Fuzz(func(t *testing.T, body string) {
		d, err := v.Verify(t.Context(), request(signer(), body).Header, []byte(body))
		switch {
		case err != nil:
			require.Empty(t, d)
		case d.Passthrough:
			require.Empty(t, d.Events)
		default:
			require.NotEmpty(t, d.Events[0].ID)
		}
	})
}

// TestLongHeader: a header of a megabyte costs next to nothing. It runs alone,
// as counting allocations demands.
func TestLongHeader(t *testing.T) {
	v := open(t, slackhook.Options{})
	long := with(request(signer(), mention).Header, header, strings.Repeat("v0=0", 250_000))
	allocs := testing.AllocsPerRun(10, func() {
		if _, err := v.Verify(t.Context(), long, []byte(mention)); reason(err) != webhook.Malformed {
			t.Error(err)
		}
	})
	require.Less(t, allocs, 20.0)
}

// BenchmarkVerify verifies an event of 5 KiB.
func BenchmarkVerify(b *testing.B) {
	body := fmt.Appendf(nil, `{"type":"event_callback","event_id":"Ev1","event":{"type":"message","blocks":[%s0]}}`, strings.Repeat(`{"type":"section","text":"a line of text"},`, 5<<10/44))
	v, h := open(b, slackhook.Options{}), request(signer(), string(body)).Header
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.Verify(b.Context(), h, body); err != nil {
			b.Fatal(err)
		}
	}
}
