package adyenhook_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook/adyenhook"
)

// TestLong: what is long and not genuine costs little. It runs alone, as counting
// allocations demands.
func TestLong(t *testing.T) {
	items, header := open(t, adyenhook.Options{}), open(t, whole)
	long := http.Header{"Hmacsignature": {strings.Repeat("A", 1<<20)}}
	many := []byte(envelope(strings.Repeat(authorised+",", 60) + authorised))
	for name, verify := range map[string]func() error{
		"header": func() error { _, err := header.Verify(t.Context(), long, []byte(created)); return err },
		"items":  func() error { _, err := items.Verify(t.Context(), http.Header{}, many); return err },
	} {
		allocs := testing.AllocsPerRun(10, func() {
			if verify() == nil {
				t.Error(name)
			}
		})
		require.Less(t, allocs, 300.0, name)
	}
}

// BenchmarkVerify verifies one item, as Adyen sends it.
func BenchmarkVerify(b *testing.B) {
	v, body := open(b, adyenhook.Options{}), []byte(signed(authorised))
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.Verify(b.Context(), nil, body); err != nil {
			b.Fatal(err)
		}
	}
}
