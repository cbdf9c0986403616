package squarehook_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/squarehook"
)

// FuzzHeader: whatever the header, Verify returns; it takes nothing that is not
// signed, and nothing that is long.
func FuzzHeader(f *testing.F) {
	genuine := sign(updated).Get(header)
	for _, value := range []string{genuine, "", "=", genuine[:43], genuine + "=", strings.Repeat("A", 44)} {
		f.Add(value, updated)
	}
	f.Add(genuine, "")
	v := open(f, squarehook.Options{})
	f.Fuzz(func(t *testing.T, value, body string) {
		_, err := v.Verify(t.Context(), http.Header{header: {value}}, []byte(body))
		if err == nil {
			require.Equal(t, updated, body)
			require.Equal(t, genuine[:43], strings.TrimSuffix(value, "="))
		}
		if len(value) > 4096 {
			require.Equal(t, webhook.Malformed, reason(err))
		}
	})
}

// FuzzBody: whatever a signed body holds, Verify returns, and what it takes has
// an id.
func FuzzBody(f *testing.F) {
	for _, body := range []string{updated, "", "{", `{"event_id":"`, `{"event_id":"a","event_id":"b"}`, "[[[[", `{"data":{"id":1e9}}`} {
		f.Add(body)
	}
	v := open(f, squarehook.Options{})
	f.Fuzz(func(t *testing.T, body string) {
		d, err := v.Verify(t.Context(), sign(body), []byte(body))
		if err == nil {
			require.NotEmpty(t, d.Events[0].ID)
		}
	})
}

// TestLongHeader: a header of a megabyte costs next to nothing. It runs alone,
// as counting allocations demands.
func TestLongHeader(t *testing.T) {
	v := open(t, squarehook.Options{})
	long := http.Header{header: {strings.Repeat("A", 1<<20)}}
	allocs := testing.AllocsPerRun(10, func() {
		if _, err := v.Verify(t.Context(), long, []byte(updated)); reason(err) != webhook.Malformed {
			t.Error(err)
		}
	})
	require.Less(t, allocs, 20.0)
}

// BenchmarkVerify verifies an event of 5 KiB.
func BenchmarkVerify(b *testing.B) {
	body := fmt.Appendf(nil, `{"merchant_id":"ML9","event_id":"a","data":{"id":"o_1","object":{"lines":[%s0]}},"type":"order.updated"}`,
		strings.Repeat(`{"amount":100,"text":"a line"},`, 5<<10/31))
	v, h := open(b, squarehook.Options{}), sign(string(body))
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.Verify(b.Context(), h, body); err != nil {
			b.Fatal(err)
		}
	}
}
