package webhooktest_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook/paypalhook"
	"github.com/semel-go/semel/middleware/webhook/webhooktest"
)

// TestPayPal: what each copy signs is believed, or not, as it says, and the
// original stays as it was.
func TestPayPal(t *testing.T) {
	t.Parallel()
	const body = `{"id":"WH-1","event_type":"PAYMENT.CAPTURE.COMPLETED"}`
	at := time.Date(2025, 1, 1, 12, 0, 0, 0, time.FixedZone("", 3600))
	paypal := webhooktest.NewPayPal(t)
	verify := func(p *webhooktest.PayPal) (http.Header, error) {
		o := p.Options()
		o.Now = func() time.Time { return at }
		v, err := paypalhook.New(paypal.WebhookID(), o)
		require.NoError(t, err)
		req := httptest.NewRequest(http.MethodPost, "/hook", http.NoBody)
		p.Sign(req, []byte(body))
		sent, err := io.ReadAll(req.Body)
		require.NoError(t, err)
		require.Equal(t, body, string(sent))
		_, err = v.Verify(t.Context(), req.Header, sent)
		return req.Header, err
	}
	fixed := paypal.At(at)
	first, err := verify(fixed)
	require.NoError(t, err)
	require.Equal(t, "2025-01-01T11:00:00Z", first.Get("PAYPAL-TRANSMISSION-TIME"))
	require.Regexp(t, `^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`, first.Get("PAYPAL-TRANSMISSION-ID"))
	second, err := verify(fixed.ID("b2384410"))
	require.NoError(t, err)
	require.Equal(t, "b2384410", second.Get("PAYPAL-TRANSMISSION-ID"))
	_, err = verify(fixed.Sandbox())
	require.NoError(t, err)
	require.Equal(t, 3, paypal.Fetches(), "by one Verifier each")

	for name, p := range map[string]*webhooktest.PayPal{
		"another webhook": fixed.For("1JE"),
		"wrong name":      fixed.WrongName(),
		"wrong root":      fixed.WrongRoot(),
		"expired":         fixed.Expired(),
		"now":             paypal,
		"too old":         paypal.At(at.Add(-5 * 24 * time.Hour)),
	} {
		_, err := verify(p)
		require.Error(t, err, name)
	}
	again, err := verify(fixed)
	require.NoError(t, err)
	require.Equal(t, first, again)
}
