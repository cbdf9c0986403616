package githubhook_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
)

// FuzzHeaders: whatever the headers, Verify returns; it takes nothing that is
// not signed, and nothing that is long.
func FuzzHeaders(f *testing.F) {
	genuine := request(signer(), opened).Header.Get(header)
	f.Add(genuine, "d-1", "1", "push", opened)
	f.Add("sha256=", "", "", "", "{")
	f.Add(strings.ToUpper(genuine), strings.Repeat("a", 5000), "\x00", "é", "payload=")
	v := open(f)
	f.Fuzz(func(t *testing.T, signature, id, hook, name, body string) {
		h := http.Header{header: {signature}, "X-Github-Delivery": {id}, "X-Github-Hook-Id": {hook}, "X-Github-Event": {name}}
		d, err := v.Verify(t.Context(), h, []byte(body))
		if err == nil {
			require.Equal(t, opened, body)
			require.True(t, strings.EqualFold(signature, genuine))
			require.Equal(t, []string{id, hook, name}, []string{d.Events[0].ID, d.Events[0].Tenant, d.Events[0].Type})
		}
		if max(len(signature), len(id), len(hook), len(name)) > 4096 {
			require.ErrorIs(t, err, webhook.ErrRefused)
		}
	})
}

// FuzzBody: whatever a signed body holds, Verify returns, and a form holds what
// it was made of.
func FuzzBody(f *testing.F) {
	for _, body := range []string{opened, "", "{", "payload=", "payload=%7B%7D&payload=1", "payload=%", `{"repository":{"id":[]}}`, "[[["} {
		f.Add(body)
	}
	v := open(f)
	f.Fuzz(func(t *testing.T, body string) {
		d, err := v.Verify(t.Context(), request(signer(), body).Header, []byte(body))
		if err == nil {
			require.NotEmpty(t, d.Events[0].ID)
		}
		form := request(signer().Form(), body)
		d, inForm := v.Verify(t.Context(), form.Header, read(t, form))
		if inForm == nil {
			require.Equal(t, body, string(d.Events[0].Body))
		}
		if !strings.HasPrefix(body, "payload=") {
			require.Equal(t, reason(err), reason(inForm))
		}
	})
}

// TestLongHeader: a header of a megabyte costs next to nothing. It runs alone,
// as counting allocations demands.
func TestLongHeader(t *testing.T) {
	v := open(t)
	long := with(request(signer(), opened).Header, header, strings.Repeat("sha256=00,", 100_000))
	allocs := testing.AllocsPerRun(10, func() {
		if _, err := v.Verify(t.Context(), long, []byte(opened)); reason(err) != webhook.Malformed {
			t.Error(err)
		}
	})
	require.Less(t, allocs, 20.0)
}

// BenchmarkVerify verifies an event of 5 KiB.
func BenchmarkVerify(b *testing.B) {
	body := fmt.Appendf(nil, `{"commits":[%s0],"repository":{"id":1}}`, strings.Repeat(`{"id":"6113728f27ae82c7b1a1","distinct":true},`, 5<<10/46))
	v, h := open(b), request(signer(), string(body)).Header
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.Verify(b.Context(), h, body); err != nil {
			b.Fatal(err)
		}
	}
}
