package standardhook_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/internal/vectors"
	"github.com/semel-go/semel/middleware/webhook/standardhook"
)

func TestVectors(t *testing.T) {
	t.Parallel()
	ids := map[string]string{}
	for _, vec := range vectors.Load(t, "standardwebhooks") {
		key := vec.Key["whsec"] + vec.Key["whpk"]
		if vec.Expect == "format-only" {
			key = secret // nobody has the right one
		}
		// The Options' tolerance stays; a vector without a time is at its own.
		v, err := standardhook.New(webhook.Secrets{key}, standardhook.Options{Now: vec.Clock(now)})
		require.NoError(t, err, vec.Name)
		d, err := v.Verify(t.Context(), vec.Header(), vec.Body)
		switch vec.Expect {
		case "valid":
			require.NoError(t, err, vec.Name)
			ids[vec.Name] = d.Events[0].ID
		case "expired":
			require.Equal(t, webhook.Expired, reason(err), vec.Name)
		case "format-only": // can be read, and is not ours
			require.Equal(t, webhook.NoMatch, reason(err), vec.Name)
		default:
			require.Equal(t, "invalid", vec.Expect, vec.Name)
			require.ErrorIs(t, err, webhook.ErrRefused, vec.Name)
		}
	}
	require.NotEmpty(t, ids["stdwh-go-sign"])
	require.Equal(t, ids["stdwh-go-sign"], ids["stdwh-resent-new-timestamp"], "a retry has the event's id")
}

// TestVectorOverAnotherMessage: the specification's own v1a example is the
// signature of another message.
func TestVectorOverAnotherMessage(t *testing.T) {
	t.Parallel()
	var spec, key string
	var format vectors.Vector
	for _, vec := range vectors.Load(t, "standardwebhooks") {
		if vec.Expect == "format-only" {
			format, spec = vec, vec.Header().Get("webhook-signature")
		}
		if vec.Key["whpk"] != "" {
			key = vec.Key["whpk"]
		}
	}
	require.Contains(t, spec, "v1a,")
	require.True(t, strings.HasPrefix(key, "whpk_"))
	v, err := standardhook.New(webhook.Secrets{key}, standardhook.Options{Tolerance: 1000 * 24 * time.Hour, Now: format.Clock(now)})
	require.NoError(t, err)
	_, err = v.Verify(t.Context(), format.Header(), format.Body)
	require.Equal(t, webhook.NoMatch, reason(err))
}
