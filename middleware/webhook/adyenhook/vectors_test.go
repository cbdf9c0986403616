package adyenhook_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/adyenhook"
	"github.com/semel-go/semel/middleware/webhook/internal/vectors"
	"github.com/semel-go/semel/middleware/webhook/webhooktest"
)

func TestVectors(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for _, vec := range vectors.Load(t, "adyen") {
		var o adyenhook.Options
		if vec.Scheme == "adyen-header-body" {
			o.Form = adyenhook.Header
		}
		d, err := open(t, o, vec.Key["hex"]).Verify(t.Context(), vec.Header(), vec.Body)
		seen[vec.Scheme+" "+vec.Expect]++
		switch vec.Expect {
		case "valid":
			require.NoError(t, err, vec.Name)
			require.Len(t, d.Events, 1, vec.Name)
		case "invalid":
			require.ErrorIs(t, err, webhook.ErrRefused, vec.Name)
			require.Empty(t, d.Events, vec.Name)
		default:
			require.Fail(t, vec.Expect, vec.Name)
		}
	}
	require.Positive(t, seen["adyen-item-fields valid"], seen)
	require.Positive(t, seen["adyen-item-fields invalid"], seen)
	require.Positive(t, seen["adyen-header-body valid"], seen)
}

// TestPayloads: items that Adyen has published are read as encoding/json reads
// them, and signed as they say they are.
func TestPayloads(t *testing.T) {
	t.Parallel()
	for name, body := range vectors.Payloads(t, "adyen") {
		var want struct {
			NotificationItems []struct {
				NotificationRequestItem struct{ PspReference, EventCode, Success, MerchantAccountCode string }
			}
		}
		require.NoError(t, json.Unmarshal(body, &want), name)
		signed := webhooktest.Adyen(secret).Body(body)
		d, err := open(t, adyenhook.Options{}).Verify(t.Context(), nil, signed)
		require.NoError(t, err, name)
		require.Len(t, d.Events, len(want.NotificationItems), name)
		for i, e := range d.Events {
			item := want.NotificationItems[i].NotificationRequestItem
			require.Equal(t, item.PspReference+":"+item.EventCode+":"+item.Success, e.ID, name)
			require.Equal(t, item.MerchantAccountCode, e.Tenant, name)
		}
	}
}
