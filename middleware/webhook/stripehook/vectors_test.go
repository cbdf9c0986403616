package stripehook_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/internal/vectors"
	"github.com/semel-go/semel/middleware/webhook/stripehook"
)

func TestVectors(t *testing.T) {
	t.Parallel()
	for _, vec := range vectors.Load(t, "stripe") {
		v, err := stripehook.New(webhook.Secrets{vec.Key["utf8"]}, stripehook.Options{Now: vec.Clock(now)})
		if err == nil {
			_, err = v.Verify(t.Context(), vec.Header(), vec.Body)
		}
		switch vec.Expect {
		case "valid":
			require.NoError(t, err, vec.Name)
		case "expired":
			require.Equal(t, webhook.Expired, reason(err), vec.Name)
		case "invalid": // or not even a Verifier
			require.Error(t, err, vec.Name)
			require.NotEqual(t, webhook.Expired, reason(err), vec.Name)
		default:
			require.Fail(t, vec.Expect, vec.Name)
		}
	}
}

// TestPayloads: events that Stripe has sent are read as encoding/json reads them.
func TestPayloads(t *testing.T) {
	t.Parallel()
	v := open(t, stripehook.Options{})
	for name, body := range vectors.Payloads(t, "stripe") {
		var want struct {
			ID, Type, Account, Context string
			Data                       struct{ Object struct{ ID string } }
			Related                    struct{ ID string } `json:"related_object"`
		}
		require.NoError(t, json.Unmarshal(body, &want), name)
		e := event(t, v, string(body))
		require.NotEmpty(t, e.ID, name)
		require.NotEmpty(t, e.Type, name)
		require.Equal(t, want.ID, e.ID, name)
		require.Equal(t, want.Type, e.Type, name)
		require.Equal(t, want.Account+want.Context, e.Tenant, name)
		require.Equal(t, want.Data.Object.ID+want.Related.ID, e.Resource, name)
		require.False(t, e.Time.IsZero(), name)
		require.Equal(t, body, e.Body, name)
	}
}
