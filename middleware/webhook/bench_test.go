package webhook_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/memstore"
	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/stripehook"
)

// BenchmarkOnce compares what a Stripe event of 5 KiB costs, delivered for the
// first time and again, with the bare HMAC of its body and a look for its id: in
// alternating slices, whose ratio is what is to be read.
func BenchmarkOnce(b *testing.B) {
	const secret = "whsec_bench"
	store, err := memstore.New(memstore.Options{})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, store.Close()) })
	guard, err := idempotency.New(store, idempotency.Options{})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, guard.Close(context.Background())) })
	stripe, err := stripehook.New(webhook.Secrets{secret}, stripehook.Options{})
	require.NoError(b, err)
	h := webhook.Once(guard, "bench", stripe, webhook.Options{})(webhook.Handle(nothing))

	made := func(n int) []byte {
		return fmt.Appendf(nil, `{"id":"evt_%d","object":"event","type":"invoice.paid","data":{"object":{"id":"in_1","note":%q}}}`,
			n, strings.Repeat("x", 5<<10))
	}
	stamp := strconv.FormatInt(time.Now().Unix(), 10)
	sign := func(body []byte) string {
		mac := hmac.New(sha256.New, []byte(secret))
		_, _ = io.WriteString(mac, stamp+".")
		_, _ = mac.Write(body)
		return hex.EncodeToString(mac.Sum(nil))
	}
	deliver := func(body []byte, sig string) {
		r := (&http.Request{
			Method: http.MethodPost, Header: http.Header{"Stripe-Signature": {"t=" + stamp + ",v1=" + sig}},
			Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
		}).WithContext(b.Context())
		w := newWriter()
		if h.ServeHTTP(w, r); w.status != http.StatusOK {
			b.Fatal(w.status)
		}
	}
	bare := func(body []byte, sig string) {
		var envelope struct{ ID, Type string }
		if err := json.Unmarshal(body, &envelope); err != nil || !hmac.Equal([]byte(sign(body)), []byte(sig)) {
			b.Fatal(err)
		}
	}

	const slice = 200
	n := 0
	var first, again []float64
	for b.Loop() {
		bodies, sigs := make([][]byte, slice), make([]string, slice)
		for i := range slice {
			n++
			bodies[i] = made(n)
			sigs[i] = sign(bodies[i])
		}
		timed := func(op func([]byte, string)) float64 {
			start := time.Now()
			for i := range slice {
				op(bodies[i], sigs[i])
			}
			return float64(time.Since(start))
		}
		base := timed(bare)
		first = append(first, timed(deliver)/base)
		again = append(again, timed(deliver)/base)
	}
	middle := func(all []float64) float64 { slices.Sort(all); return all[len(all)/2] }
	b.ReportMetric(middle(first), "first/bare")
	b.ReportMetric(middle(again), "again/bare")
}
