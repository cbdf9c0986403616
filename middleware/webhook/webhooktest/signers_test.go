package webhooktest_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook/internal/vectors"
	"github.com/semel-go/semel/middleware/webhook/webhooktest"
)

// signer is what all signers can.
type signer interface {
	Sign(req *http.Request, body []byte)
}

// request returns a request that s has signed.
func request(s signer, body string) *http.Request {
	req := httptest.NewRequest(http.MethodPost, "/hook", http.NoBody)
	s.Sign(req, []byte(body))
	return req
}

// TestVectors: the signers sign as the providers do.
func TestVectors(t *testing.T) {
	t.Parallel()
	compared := map[string]bool{}
	for _, vec := range vectors.Load(t, "stripe", "standardwebhooks", "github", "shopify", "slack", "square", "paddle", "adyen") {
		if vec.Expect != "valid" {
			continue
		}
		h, at := vec.Header(), time.Unix(vec.Now, 0)
		switch vec.Scheme {
		case "stripe-v1":
			stamp, _, _ := strings.Cut(strings.TrimPrefix(h.Get("Stripe-Signature"), "t="), ",")
			signed, err := time.ParseDuration(stamp + "s")
			if err != nil {
				continue // another order
			}
			got := request(webhooktest.Stripe(vec.Key["utf8"]).At(time.Unix(0, 0).Add(signed)), string(vec.Body)).Header.Get("Stripe-Signature")
			require.Contains(t, h.Get("Stripe-Signature"), strings.Split(got, ",")[1], vec.Name)
			require.True(t, strings.HasPrefix(got, "t="+stamp+",v1="), vec.Name)
		case "stdwh-v1":
			s, family := webhooktest.Standard(vec.Key["whsec"]), "webhook"
			if h.Get("svix-id") != "" {
				s, family = webhooktest.Svix(vec.Key["whsec"]), "svix"
			}
			got := request(s.At(at).ID(h.Get(family+"-id")), string(vec.Body)).Header
			require.Contains(t, h.Get(family+"-signature"), got.Get(family+"-signature"), vec.Name)
			require.Equal(t, h.Get(family+"-timestamp"), got.Get(family+"-timestamp"), vec.Name)
			require.Equal(t, h.Get(family+"-id"), got.Get(family+"-id"), vec.Name)
		case "hmac-sha256-hex-prefix":
			s := webhooktest.HMAC(vec.Key["utf8"], webhooktest.HMACOptions{Header: "x-hub-signature-256", Prefix: "sha256="})
			require.Equal(t, h.Get("X-Hub-Signature-256"), request(s, string(vec.Body)).Header.Get("X-Hub-Signature-256"), vec.Name)
			signed := request(webhooktest.GitHub(vec.Key["utf8"]), string(vec.Body)).Header
			require.Equal(t, h.Get("X-Hub-Signature-256"), signed.Get("X-Hub-Signature-256"), vec.Name)
		case "hmac-sha256-base64":
			signed := request(webhooktest.Shopify(vec.Key["utf8"]), string(vec.Body)).Header
			require.Equal(t, h.Get("X-Shopify-Hmac-Sha256"), signed.Get("X-Shopify-Hmac-Sha256"), vec.Name)
		case "slack-v0":
			sent, err := strconv.ParseInt(h.Get("X-Slack-Request-Timestamp"), 10, 64)
			require.NoError(t, err, vec.Name)
			signed := request(webhooktest.Slack(vec.Key["utf8"]).At(time.Unix(sent, 0)), string(vec.Body)).Header
			require.Equal(t, h.Get("X-Slack-Signature"), signed.Get("X-Slack-Signature"), vec.Name)
			require.Equal(t, h.Get("X-Slack-Request-Timestamp"), signed.Get("X-Slack-Request-Timestamp"), vec.Name)
			require.Equal(t, h.Get("Content-Type"), signed.Get("Content-Type"), vec.Name)
		case "square-url-body":
			signed := request(webhooktest.Square(vec.URL, vec.Key["utf8"]), string(vec.Body)).Header
			require.Equal(t, h.Get("X-Square-Hmacsha256-Signature"), signed.Get("X-Square-Hmacsha256-Signature"), vec.Name)
		case "paddle-h1":
			at, _, _ := strings.Cut(strings.TrimPrefix(h.Get("Paddle-Signature"), "ts="), ";")
			sent, err := strconv.ParseInt(at, 10, 64)
			require.NoError(t, err, vec.Name)
			signed := request(webhooktest.Paddle(vec.Key["utf8"]).At(time.Unix(sent, 0)), string(vec.Body)).Header
			_, mac, _ := strings.Cut(signed.Get("Paddle-Signature"), ";")
			require.Contains(t, h.Get("Paddle-Signature"), mac, vec.Name)
		case "adyen-header-body":
			signed := request(webhooktest.AdyenHeader(vec.Key["hex"]), string(vec.Body)).Header
			require.Equal(t, h.Get("HmacSignature"), signed.Get("HmacSignature"), vec.Name)
		case "adyen-item-fields":
			require.JSONEq(t, string(vec.Body), string(webhooktest.Adyen(vec.Key["hex"]).Body(vec.Body)), vec.Name)
		default:
			continue
		}
		compared[vec.Scheme] = true
	}
	require.Len(t, compared, 9)
}

// TestStandardKey: what StandardKey signs is what PublicKey verifies.
func TestStandardKey(t *testing.T) {
	t.Parallel()
	private := ed25519.NewKeyFromSeed(make([]byte, 32))
	public, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(webhooktest.PublicKey(private), "whpk_"))
	require.NoError(t, err)
	h := request(webhooktest.StandardKey(private).At(time.Unix(1735689600, 0)).ID("msg_1"), "hello").Header
	signature, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(h.Get("webhook-signature"), "v1a,"))
	require.NoError(t, err)
	require.True(t, ed25519.Verify(public, []byte("msg_1.1735689600.hello"), signature))
}

// TestSign: the request has the body, whole and readable again, and what was
// signed before is as it was.
func TestSign(t *testing.T) {
	t.Parallel()
	const key = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"
	for name, s := range map[string]signer{
		"stripe":   webhooktest.Stripe("secret"),
		"standard": webhooktest.Standard(key),
		"svix":     webhooktest.Svix(key),
		"github":   webhooktest.GitHub("secret"),
		"shopify":  webhooktest.Shopify("secret"),
		"slack":    webhooktest.Slack("secret"),
		"square":   webhooktest.Square("https://shop.example/", "secret"),
		"paddle":   webhooktest.Paddle("secret"),
		"adyen":    webhooktest.AdyenHeader("00ff"),
		"hmac":     webhooktest.HMAC("secret", webhooktest.HMACOptions{Header: "Signature", IDHeader: "Id", TimestampHeader: "Time"}),
	} {
		body := []byte(`{"id":"evt_1"}`)
		req := &http.Request{Method: http.MethodPost}
		s.Sign(req, body)
		body[0] = 'x'
		require.EqualValues(t, len(body), req.ContentLength, name)
		require.Equal(t, "application/json", req.Header.Get("Content-Type"), name)
		got, err := io.ReadAll(req.Body)
		require.NoError(t, err, name)
		require.JSONEq(t, `{"id":"evt_1"}`, string(got), name)
		again, err := req.GetBody()
		require.NoError(t, err, name)
		got, err = io.ReadAll(again)
		require.NoError(t, err, name)
		require.JSONEq(t, `{"id":"evt_1"}`, string(got), name)
	}
	req := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
	req.Header.Set("Content-Type", "text/plain")
	webhooktest.Stripe("secret").Sign(req, nil)
	require.Equal(t, "text/plain", req.Header.Get("Content-Type"))
}

// TestIDs: the same body is the same event, another body another.
func TestIDs(t *testing.T) {
	t.Parallel()
	const key = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"
	custom := webhooktest.HMAC("secret", webhooktest.HMACOptions{Header: "Signature", IDHeader: "Id"})
	for name, of := range map[string]func(at int64, body string) string{
		"standard": func(at int64, body string) string {
			return request(webhooktest.Standard(key).At(time.Unix(at, 0)), body).Header.Get("webhook-id")
		},
		"hmac": func(at int64, body string) string {
			return request(custom.At(time.Unix(at, 0)), body).Header.Get("Id")
		},
	} {
		require.NotEmpty(t, of(1, "a"), name)
		require.NotContains(t, of(1, "a"), ".", name)
		require.Equal(t, of(1, "a"), of(2, "a"), name)
		require.NotEqual(t, of(1, "a"), of(1, "b"), name)
	}
	for name, h := range map[string]func(body string) http.Header{
		"X-GitHub-Delivery":    func(body string) http.Header { return request(webhooktest.GitHub("s"), body).Header },
		"X-Shopify-Webhook-Id": func(body string) http.Header { return request(webhooktest.Shopify("s"), body).Header },
		"X-Shopify-Event-Id":   func(body string) http.Header { return request(webhooktest.Shopify("s"), body).Header },
	} {
		require.Regexp(t, "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", h("a").Get(name))
		require.Equal(t, h("a").Get(name), h("a").Get(name))
		require.NotEqual(t, h("a").Get(name), h("b").Get(name))
	}
	form := request(webhooktest.GitHub("s").Form(), "{}")
	require.Equal(t, request(webhooktest.GitHub("s"), "{}").Header.Get("X-GitHub-Delivery"), form.Header.Get("X-GitHub-Delivery"))
	require.Equal(t, "application/x-www-form-urlencoded", form.Header.Get("Content-Type"))
	require.Equal(t, "mine", request(custom.ID("mine"), "a").Header.Get("Id"))
	require.Empty(t, request(custom.ID("mine"), "a").Header.Get("Time"))
}

func TestPanics(t *testing.T) {
	t.Parallel()
	require.PanicsWithValue(t, "webhooktest: HMAC: field Header is empty", func() { webhooktest.HMAC("secret", webhooktest.HMACOptions{}) })
	require.PanicsWithValue(t, "webhooktest: Standard: the secret is not base64", func() { webhooktest.Standard("whsec_*") })
}
