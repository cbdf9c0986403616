package paddlehook_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/internal/vectors"
	"github.com/semel-go/semel/middleware/webhook/paddlehook"
)

func TestVectors(t *testing.T) {
	t.Parallel()
	for _, vec := range vectors.Load(t, "paddle") {
		v, err := paddlehook.New(webhook.Secrets{vec.Key["utf8"]}, paddlehook.Options{Now: vec.Clock(now)})
		require.NoError(t, err, vec.Name)
		_, err = v.Verify(t.Context(), vec.Header(), vec.Body)
		switch vec.Expect {
		case "valid":
			require.NoError(t, err, vec.Name)
		case "invalid":
			require.Equal(t, webhook.NoMatch, reason(err), vec.Name)
		default:
			require.Fail(t, vec.Expect, vec.Name)
		}
	}
}

// TestPayloads: events that Paddle has sent are read as encoding/json reads them.
func TestPayloads(t *testing.T) {
	t.Parallel()
	v := open(t, paddlehook.Options{})
	for name, body := range vectors.Payloads(t, "paddle") {
		var want struct {
			ID   string `json:"event_id"`
			Type string `json:"event_type"`
			Data struct{ ID string }
		}
		require.NoError(t, json.Unmarshal(body, &want), name)
		e := event(t, v, string(body))
		require.NotEmpty(t, e.ID, name)
		require.Equal(t, []string{want.ID, want.Type, want.Data.ID, ""}, []string{e.ID, e.Type, e.Resource, e.Tenant}, name)
		require.False(t, e.Time.IsZero(), name)
		require.Equal(t, body, e.Body, name)
	}
}
