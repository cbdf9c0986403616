package stripehook_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/stripehook"
)

// FuzzHeader: whatever the header, Verify returns; it takes nothing that is not
// signed, and nothing that is long.
func FuzzHeader(f *testing.F) {
	genuine := sign(paid, now).Get(header)
	for _, value := range []string{genuine, "t=1,v1=", "t=1", ",=,=", genuine + "," + genuine, strings.Repeat("v1=,", 2000)} {
		f.Add(value, paid)
	}
	f.Add(genuine, `{"id":`)
	v := open(f, stripehook.Options{})
	mac := strings.Split(genuine, "v1=")[1]
	f.Fuzz(func(t *testing.T, value, body string) {
		_, err := v.Verify(t.Context(), http.Header{header: {value}}, []byte(body))
		if err == nil {
			require.Equal(t, paid, body)
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
	for _, body := range []string{paid, "", "{", `{"id":"`, `{"id":"a","id":"b"}`, `{"\u0069d":"a"}`, "[[[[", `{"data":{"object":{"id":1e9}}}`} {
		f.Add(body)
	}
	v := open(f, stripehook.Options{})
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
	v := open(t, stripehook.Options{})
	long := http.Header{header: {strings.Repeat("v1=00,", 200_000)}}
	allocs := testing.AllocsPerRun(10, func() {
		if _, err := v.Verify(t.Context(), long, []byte(paid)); reason(err) != webhook.Malformed {
			t.Error(err)
		}
	})
	require.Less(t, allocs, 20.0)
}

// BenchmarkVerify verifies an event of 5 KiB.
func BenchmarkVerify(b *testing.B) {
	body := fmt.Appendf(nil, `{"id":"evt_1","object":"event","data":{"object":{"id":"in_1","lines":[%s0]}},"type":"invoice.paid"}`,
		strings.Repeat(`{"amount":100,"text":"a line"},`, 5<<10/31))
	v, h := open(b, stripehook.Options{}), sign(string(body), now)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.Verify(b.Context(), h, body); err != nil {
			b.Fatal(err)
		}
	}
}
