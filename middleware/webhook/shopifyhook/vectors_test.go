package shopifyhook_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/internal/vectors"
	"github.com/semel-go/semel/middleware/webhook/shopifyhook"
)

func TestVectors(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for _, vec := range vectors.Load(t, "shopify") {
		h := vec.Header()
		h.Set("X-Shopify-Shop-Domain", "example.myshopify.com")
		h.Set("X-Shopify-Topic", "orders/create")
		if h.Get("X-Shopify-Webhook-Id") == "" {
			h.Set("X-Shopify-Webhook-Id", "w-1")
		}
		d, err := open(t, shopifyhook.Options{}, vec.Key["utf8"]).Verify(t.Context(), h, vec.Body)
		switch vec.Expect {
		case "valid":
			require.Equal(t, h.Get("X-Shopify-Webhook-Id"), event(t, d, err).ID, vec.Name)
		default:
			require.Equal(t, "invalid", vec.Expect, vec.Name)
			require.ErrorIs(t, err, webhook.ErrRefused, vec.Name)
		}
		seen[vec.Expect]++
	}
	require.Len(t, seen, 2)
}

// TestPayloads: what Shopify has sent is read as encoding/json reads it.
func TestPayloads(t *testing.T) {
	t.Parallel()
	v := open(t, shopifyhook.Options{})
	for name, body := range vectors.Payloads(t, "shopify") {
		var want struct{ ID json.Number }
		require.NoError(t, json.Unmarshal(body, &want), name)
		require.NotEmpty(t, want.ID, name)
		d, err := v.Verify(t.Context(), request(signer(), string(body)).Header, body)
		e := event(t, d, err)
		require.Equal(t, want.ID.String(), e.Resource, name)
		require.Equal(t, body, e.Body, name)
	}
}
