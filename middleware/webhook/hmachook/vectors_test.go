package hmachook_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/hmachook"
	"github.com/semel-go/semel/middleware/webhook/internal/vectors"
)

// TestVectors: the schemes of four providers, said in Options.
func TestVectors(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for _, vec := range vectors.Load(t, "github", "shopify", "slack", "square") {
		o := hmachook.Options{IDHeader: "Some-Id", Now: vec.Clock(now)}
		switch vec.Scheme {
		case "hmac-sha256-hex-prefix":
			o.Header, o.Prefix = "X-Hub-Signature-256", "sha256="
		case "hmac-sha256-base64":
			o.Header, o.Encoding = "X-Shopify-Hmac-Sha256", hmachook.Base64
		case "slack-v0":
			o.Header, o.Prefix = "X-Slack-Signature", "v0="
			o.Content, o.TimestampHeader = "v0:{timestamp}:{body}", "X-Slack-Request-Timestamp"
		case "square-url-body":
			o.Header, o.Encoding, o.Content = "X-Square-Hmacsha256-Signature", hmachook.Base64, vec.URL+"{body}"
		default:
			require.Equal(t, "hmac-sha1-hex-prefix", vec.Scheme) // refused by the constructor
			continue
		}
		v, err := hmachook.New("vector", webhook.Secrets{vec.Key["utf8"]}, o)
		if errors.Is(err, webhook.ErrSecrets) {
			require.Contains(t, vec.Key["utf8"], " ", vec.Name) // GitHub's own example
			continue
		}
		require.NoError(t, err, vec.Name)
		seen[vec.Provider]++
		_, err = v.Verify(t.Context(), with(vec.Header(), "Some-Id", "1"), vec.Body)
		switch vec.Expect {
		case "valid":
			require.NoError(t, err, vec.Name)
		case "expired":
			require.Equal(t, webhook.Expired, reason(err), vec.Name)
		default:
			require.Equal(t, "invalid", vec.Expect, vec.Name)
			require.ErrorIs(t, err, webhook.ErrRefused, vec.Name)
		}
	}
	require.Len(t, seen, 4)
}
