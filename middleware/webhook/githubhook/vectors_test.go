package githubhook_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/internal/vectors"
)

func TestVectors(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for _, vec := range vectors.Load(t, "github") {
		h := with(vec.Header(), "X-Github-Delivery", "d-1")
		h.Set("X-Github-Event", "push")
		_, err := open(t, vec.Key["utf8"]).Verify(t.Context(), h, vec.Body)
		expect := vec.Expect
		if vec.Scheme == "hmac-sha1-hex-prefix" {
			require.Equal(t, webhook.MissingHeader, reason(err), "SHA-1 is not looked at, however good it is")
			expect = "invalid"
		}
		switch expect {
		case "valid":
			require.NoError(t, err, vec.Name)
		default:
			require.Equal(t, "invalid", expect, vec.Name)
			require.ErrorIs(t, err, webhook.ErrRefused, vec.Name)
		}
		seen[expect]++
	}
	require.Len(t, seen, 2)
}

// TestPayloads: what GitHub has sent is read as encoding/json reads it, as JSON
// and as a form.
func TestPayloads(t *testing.T) {
	t.Parallel()
	v, withRepository := open(t), 0
	for name, body := range vectors.Payloads(t, "github") {
		var want struct {
			Repository struct{ ID json.Number }
		}
		require.NoError(t, json.Unmarshal(body, &want), name)
		if want.Repository.ID != "" {
			withRepository++
		}
		r, form := request(signer(), string(body)), request(signer().Form(), string(body))
		d, err := v.Verify(t.Context(), r.Header, body)
		e := event(t, d, err)
		require.Equal(t, want.Repository.ID.String(), e.Resource, name)
		require.Equal(t, body, e.Body, name)

		d, err = v.Verify(t.Context(), form.Header, read(t, form))
		inForm := event(t, d, err)
		require.Equal(t, "application/json", inForm.ContentType, name)
		inForm.ContentType = ""
		require.Equal(t, e, inForm, name)
	}
	require.NotZero(t, withRepository)
}
