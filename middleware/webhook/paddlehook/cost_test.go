package paddlehook_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/paddlehook"
)

// FuzzHeader: whatever the header, Verify returns; it takes nothing that is not
// signed, and nothing that is long.
func FuzzHeader(f *testing.F) {
	genuine := sign(completed, now).Get(header)
	for _, value := range []string{genuine, "ts=1;h1=", "ts=1", ";=;=", genuine + ";" + genuine, strings.Repeat("h1=;", 2000)} {
		f.Add(value, completed)
	}
	f.Add(genuine, "")
	v := open(f, paddlehook.Options{})
	mac := strings.Split(genuine, "h1=")[1]
	f.Fuzz(func(t *testing.T, value, body string) {
		_, err := v.Verify(t.Context(), http.Header{header: {value}}, []byte(body))
		if err == nil {
			require.Equal(t, completed, body)
			require.Contains(t, strings.ToLower(value), mac)
		}
		if len(value) > 4096 {
			require.Equal(t, webhook.Malformed, reason(err))
		}
	})
}

// FuzzBody: whatever a signed body holds, Verify returns, and what it takes has
// an id.
func FuzzBody(f *testing.F) {
	for _, body := range []string{completed, "", "{", `{"event_id":"`, `{"event_id":"a","event_id":"b"}`, "[[[[", `{"data":{"id":1e9}}`} {
		f.Add(body)
	}
	v := open(f, paddlehook.Options{})
	f.Fuzz(func(t *testing.T, body string) {
		d, err := v.Verify(t.Context(), sign(body, now), []byte(body))
		if err == nil {
			require.NotEmpty(t, d.Events[0].ID)
		}
	})
}

// TestLongHeader: a header of a megabyte costs next to nothing. It runs alone,
// as counting allocations demands.
func TestLongHeader(t *testing.T) {
	v := open(t, paddlehook.Options{})
	long := http.Header{header: {strings.Repeat("h1=00;", 200_000)}}
	allocs := testing.AllocsPerRun(10, func() {
		if _, err := v.Verify(t.Context(), long, []byte(completed)); reason(err) != webhook.Malformed {
			t.Error(err)
		}
	})
	require.Less(t, allocs, 20.0)
}

// BenchmarkVerify verifies an event of 5 KiB.
func BenchmarkVerify(b *testing.B) {
	body := fmt.Appendf(nil, `{"data":{"id":"txn_1","items":[%s0]},"event_id":"evt_1","event_type":"transaction.completed"}`,
		strings.Repeat(`{"amount":100,"text":"a line"},`, 5<<10/31))
	v, h := open(b, paddlehook.Options{}), sign(string(body), now)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.Verify(b.Context(), h, body); err != nil {
			b.Fatal(err)
		}
	}
}
