package squarehook_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/internal/vectors"
	"github.com/semel-go/semel/middleware/webhook/squarehook"
)

func TestVectors(t *testing.T) {
	t.Parallel()
	for _, vec := range vectors.Load(t, "square") {
		v, err := squarehook.New(vec.URL, webhook.Secrets{vec.Key["utf8"]}, squarehook.Options{Now: vec.Clock(now)})
		if err == nil {
			_, err = v.Verify(t.Context(), vec.Header(), vec.Body)
		}
		switch vec.Expect {
		case "valid":
			if !bytes.Contains(vec.Body, []byte("event_id")) {
				require.ErrorIs(t, err, webhook.ErrNoEvent, "%s: genuine, and without an id", vec.Name)
				continue
			}
			require.NoError(t, err, vec.Name)
		case "invalid": // or not even a Verifier
			require.Error(t, err, vec.Name)
			require.NotEqual(t, webhook.Expired, reason(err), vec.Name)
		default:
			require.Fail(t, vec.Expect, vec.Name)
		}
	}
}

// TestPayloads: events that Square has sent are read as encoding/json reads them.
func TestPayloads(t *testing.T) {
	t.Parallel()
	v := open(t, squarehook.Options{})
	for name, body := range vectors.Payloads(t, "square") {
		var want struct {
			ID       string `json:"event_id"`
			Merchant string `json:"merchant_id"`
			Type     string
			Data     struct{ ID string }
		}
		require.NoError(t, json.Unmarshal(body, &want), name)
		e := event(t, v, string(body))
		require.NotEmpty(t, e.ID, name)
		require.Equal(t, []string{want.ID, want.Merchant, want.Type, want.Data.ID}, []string{e.ID, e.Tenant, e.Type, e.Resource}, name)
		require.False(t, e.Time.IsZero(), name)
		require.Equal(t, body, e.Body, name)
	}
}
