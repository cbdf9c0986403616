package shopifyhook_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/shopifyhook"
)

// FuzzHeaders: whatever the headers, Verify returns; it takes nothing that is
// not signed, and nothing that is long.
func FuzzHeaders(f *testing.F) {
	genuine := request(signer(), order).Header.Get(header)
	f.Add(genuine, "w-1", "example.myshopify.com", "orders/create", order)
	f.Add(genuine+"=", "", "", "", "{")
	f.Add(strings.TrimRight(genuine, "="), strings.Repeat("a", 5000), "\x00", "é", "x")
	v := open(f, shopifyhook.Options{})
	f.Fuzz(func(t *testing.T, signature, id, shop, topic, body string) {
		h := http.Header{header: {signature}, "X-Shopify-Webhook-Id": {id}, "X-Shopify-Shop-Domain": {shop}, "X-Shopify-Topic": {topic}}
		d, err := v.Verify(t.Context(), h, []byte(body))
		if err == nil {
			require.Equal(t, order, body)
			require.Equal(t, strings.TrimRight(genuine, "="), strings.TrimRight(signature, "="))
			require.Equal(t, []string{id, strings.ToLower(shop), topic}, []string{d.Events[0].ID, d.Events[0].Tenant, d.Events[0].Type})
		}
		if max(len(signature), len(id), len(shop), len(topic)) > 4096 {
			require.ErrorIs(t, err, webhook.ErrRefused)
		}
	})
}

// FuzzBody: whatever a signed body holds, Verify returns, and a shop that it
// names is the header's.
func FuzzBody(f *testing.F) {
	for _, body := range []string{order, "", "{", `{"shop_domain":"other"}`, `{"id":"a","id":"b"}`, `{"\u0069d":1}`, "[[[["} {
		f.Add(body)
	}
	v := open(f, shopifyhook.Options{})
	f.Fuzz(func(t *testing.T, body string) {
		_, err := v.Verify(t.Context(), request(signer(), body).Header, []byte(body))
		var named map[string]any
		if err != nil || json.Unmarshal([]byte(body), &named) != nil {
			return
		}
		if shop, ok := named["shop_domain"].(string); ok && shop != "" && !strings.ContainsRune(shop, utf8.RuneError) {
			require.True(t, strings.EqualFold("example.myshopify.com", shop))
		}
	})
}

// TestLongHeader: a header of a megabyte costs next to nothing. It runs alone,
// as counting allocations demands.
func TestLongHeader(t *testing.T) {
	v := open(t, shopifyhook.Options{})
	long := with(request(signer(), order).Header, header, strings.Repeat("AAAA", 250_000))
	allocs := testing.AllocsPerRun(10, func() {
		if _, err := v.Verify(t.Context(), long, []byte(order)); reason(err) != webhook.Malformed {
			t.Error(err)
		}
	})
	require.Less(t, allocs, 20.0)
}

// BenchmarkVerify verifies an event of 5 KiB.
func BenchmarkVerify(b *testing.B) {
	body := fmt.Appendf(nil, `{"id":1,"line_items":[%s0]}`, strings.Repeat(`{"id":254721536,"price":"0.00","quantity":1},`, 5<<10/45))
	v, h := open(b, shopifyhook.Options{}), request(signer(), string(body)).Header
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.Verify(b.Context(), h, body); err != nil {
			b.Fatal(err)
		}
	}
}
