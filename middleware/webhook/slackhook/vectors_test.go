package slackhook_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/internal/vectors"
	"github.com/semel-go/semel/middleware/webhook/slackhook"
)

func TestVectors(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for _, vec := range vectors.Load(t, "slack") {
		v := open(t, slackhook.Options{Now: vec.Clock(now)}, vec.Key["utf8"])
		d, err := v.Verify(t.Context(), vec.Header(), vec.Body)
		switch vec.Expect {
		case "valid":
			e := event(t, d, err)
			require.NotEmpty(t, e.ID, vec.Name)
			require.NotEmpty(t, e.Tenant, vec.Name)
			if vec.Headers["X-Slack-Retry-Num"] != "" {
				require.Equal(t, 1, e.Attempt, vec.Name)
			}
		case "expired":
			require.Equal(t, webhook.Expired, reason(err), vec.Name)
		default:
			require.Equal(t, "invalid", vec.Expect, vec.Name)
			require.True(t, errors.Is(err, webhook.ErrRefused) && reason(err) != webhook.Expired, vec.Name)
		}
		seen[vec.Expect]++
	}
	require.Len(t, seen, 3)
}
