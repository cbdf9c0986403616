package paypalhook_test

import (
	"bytes"
	"hash/crc32"
	"math/bits"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/memstore"
	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/internal/vectors"
	"github.com/semel-go/semel/middleware/webhook/paypalhook"
	"github.com/semel-go/semel/middleware/webhook/webhooktest"
)

// collide returns text with white space after it that gives it the checksum of
// another. Each place is a space or a tab, and each tab changes the checksum by
// the same amount wherever the others are; so it is a matter of linear algebra
// over the 32 bits.
func collide(t *testing.T, text, other string) string {
	t.Helper()
	const places = 64
	base := append([]byte(text), bytes.Repeat([]byte(" "), places)...)
	sum := crc32.ChecksumIEEE(base)
	type row struct {
		change uint32
		tabs   uint64
	}
	var basis [32]row // by highest bit
	reduce := func(r row) row {
		for r.change != 0 && basis[bits.Len32(r.change)-1].change != 0 {
			b := basis[bits.Len32(r.change)-1]
			r.change, r.tabs = r.change^b.change, r.tabs^b.tabs
		}
		return r
	}
	for i := range places {
		base[len(text)+i] = '\t'
		if r := reduce(row{crc32.ChecksumIEEE(base) ^ sum, 1 << i}); r.change != 0 {
			basis[bits.Len32(r.change)-1] = r
		}
		base[len(text)+i] = ' '
	}
	r := reduce(row{crc32.ChecksumIEEE([]byte(other)) ^ sum, 0})
	require.Zero(t, r.change)
	for i := range places {
		if r.tabs&(1<<i) != 0 {
			base[len(text)+i] = '\t'
		}
	}
	require.Equal(t, crc32.ChecksumIEEE([]byte(other)), crc32.ChecksumIEEE(base))
	return string(base)
}

const forgedBody = `{"id":"WH-9F-9F","event_type":"PAYMENT.CAPTURE.COMPLETED","resource":{"id":"42A","amount":{"value":"9999999.00"}}}`

// site is an endpoint that runs each event once.
type site struct {
	http.Handler
	ran []string // the ids of the events that ran
}

func newSite(t *testing.T, v webhook.Verifier) *site {
	t.Helper()
	store, err := memstore.New(memstore.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	guard, err := idempotency.New(store, idempotency.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, guard.Close(t.Context())) })
	s := &site{}
	s.Handler = webhook.Once(guard, "billing", v, webhook.Options{})(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		e, _ := webhook.EventFrom(r.Context())
		s.ran = append(s.ran, e.ID)
	}))
	return s
}

// deliver sends body under the headers.
func (s *site) deliver(h http.Header, body string) int {
	req := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader([]byte(body)))
	req.Header = h.Clone()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, req)
	return w.Code
}

// TestForgery: after the genuine delivery, another body under its signature is
// refused, and the same transmission signed anew is not.
func TestForgery(t *testing.T) {
	t.Parallel()
	p, v := newPayPal(t)
	p = p.ID("b2384410-f8d2-11e4")
	genuine, forged := sign(p, body), collide(t, forgedBody, body)

	d, err := v.Verify(t.Context(), genuine, []byte(forged))
	require.NoError(t, err, "the scheme itself cannot see it")
	require.Equal(t, "WH-9F-9F", d.Events[0].ID)

	s := newSite(t, v)
	require.Equal(t, 200, s.deliver(genuine, body))
	require.Equal(t, 401, s.deliver(genuine, forged))
	require.Equal(t, 200, s.deliver(genuine, body), "again, with the recorded answer")
	anew := sign(p.At(now.Add(time.Minute)), body)
	require.Equal(t, 200, s.deliver(anew, body))
	require.Equal(t, 401, s.deliver(anew, forged))
	changed := `{"id":"WH-2","event_type":"A"}`
	require.Equal(t, 200, s.deliver(sign(p.At(now.Add(2*time.Minute)), changed), changed), "another body, signed")
	require.Equal(t, []string{"WH-1X-2Y", "WH-2"}, s.ran)
}

// TestForgedFirst is the limit that the package's comment states: without Reread
// the forged body that comes first is believed.
func TestForgedFirst(t *testing.T) {
	t.Parallel()
	p, v := newPayPal(t)
	genuine, forged := sign(p, body), collide(t, forgedBody, body)
	s := newSite(t, v)
	require.Equal(t, 200, s.deliver(genuine, forged))
	require.Equal(t, 401, s.deliver(genuine, body))
	require.Equal(t, []string{"WH-9F-9F"}, s.ran)

	api := map[string]string{"WH-1X-2Y": body}
	s = newSite(t, open(t, p, func(o *paypalhook.Options) { o.Reread = known(api) }))
	require.Equal(t, 503, s.deliver(genuine, forged), "an event that PayPal does not know (yet)")
	amount := `{"id":"WH-1X-2Y","event_type":"PAYMENT.CAPTURE.COMPLETED","create_time":"2025-01-01T11:59:58.25Z","resource":{"id":"42A","amount":{"value":"99.00"}}}`
	require.Equal(t, 401, s.deliver(genuine, collide(t, amount, body)))
	require.Empty(t, s.ran)
	require.Equal(t, 200, s.deliver(genuine, body), "which nothing was bound against")
	require.Equal(t, []string{"WH-1X-2Y"}, s.ran)
}

// TestBitFlips: no bit of the body and of what is signed can be changed. A CRC-32
// sees every change of one bit, though not every change.
func TestBitFlips(t *testing.T) {
	t.Parallel()
	p := webhooktest.NewPayPal(t).At(now)
	v := open(t, p, nil)
	genuine := sign(p, body)
	_, err := v.Verify(t.Context(), genuine, []byte(body))
	require.NoError(t, err)
	for bit, body := range vectors.Flips([]byte(body)) {
		_, err := v.Verify(t.Context(), genuine, body)
		require.Equal(t, webhook.NoMatch, reason(err), "bit %d of the body", bit)
	}
	// The certificate's URL is not signed, and changes where nothing is.
	for _, name := range []string{"Paypal-Transmission-Id", "Paypal-Transmission-Time", "Paypal-Transmission-Sig", "Paypal-Cert-Url", "Paypal-Auth-Algo"} {
		for bit, value := range vectors.Flips([]byte(genuine.Get(name))) {
			_, err := v.Verify(t.Context(), with(genuine, name, string(value)), []byte(body))
			require.ErrorIs(t, err, webhook.ErrRefused, "bit %d of %s: %q", bit, name, value)
		}
	}
}
