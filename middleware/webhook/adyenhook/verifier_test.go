package adyenhook_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/adyenhook"
)

func TestConstructor(t *testing.T) {
	t.Parallel()
	for name, secrets := range map[string]webhook.SecretSource{
		"nil":            nil,
		"nil function":   webhook.SecretFunc(nil),
		"none":           webhook.Secrets{},
		"empty":          webhook.Secrets{""},
		"second empty":   webhook.Secrets{secret, ""},
		"not hex":        webhook.Secrets{secret, strings.Replace(secret, "c", "g", 1)},
		"an odd number":  webhook.Secrets{secret[1:]},
		"much too short": webhook.Secrets{secret[:30]},
	} {
		_, err := adyenhook.New(secrets, adyenhook.Options{})
		require.ErrorIs(t, err, webhook.ErrSecrets, name)
		require.NotContains(t, err.Error(), secret[2:20], name)
	}
	for field, o := range map[string]adyenhook.Options{
		"field Form":     {Form: 7},
		"is empty":       {Form: adyenhook.Header, IDFields: []string{"a", "a"}},
		"more than 8":    {Form: adyenhook.Header, IDFields: strings.Split("abcdefghi", "")},
		"of what is sig": {IDFields: []string{"a"}},
	} {
		_, err := adyenhook.New(webhook.Secrets{secret}, o)
		require.ErrorContains(t, err, "field ", field)
		_, err = adyenhook.New(nil, o)
		require.ErrorIs(t, err, webhook.ErrSecrets, "all that is wrong is told")
		require.ErrorContains(t, err, "field ", field)
	}
}

func TestPolicy(t *testing.T) {
	t.Parallel()
	want := webhook.Policy{
		Wait: 5 * time.Second, Patience: 10 * time.Second, Retention: 35 * 24 * time.Hour, MaxBody: 1 << 20, OK: http.StatusAccepted,
	}
	v := open(t, adyenhook.Options{})
	require.Equal(t, want, v.Policy())
	require.Equal(t, "adyen", v.Provider())
	want.OK, want.OKBody = http.StatusOK, "[accepted]"
	require.Equal(t, want, open(t, adyenhook.Options{AcceptedBody: true}).Policy())
}

func TestRotation(t *testing.T) {
	t.Parallel()
	for _, secrets := range [][]string{{secret, old}, {old, secret}, {strings.ToUpper(secret)}} {
		event(t, open(t, adyenhook.Options{}, secrets...), http.Header{}, signed(authorised))
		event(t, open(t, whole, secrets...), inHeader(created), created)
	}
	_, err := open(t, adyenhook.Options{}, old).Verify(t.Context(), http.Header{}, []byte(signed(authorised)))
	require.Equal(t, webhook.NoMatch, reason(err))
	_, err = open(t, whole, old).Verify(t.Context(), inHeader(created), []byte(created))
	require.Equal(t, webhook.NoMatch, reason(err))
}

// TestTenants: the tenant of a SecretFunc stands before the merchant account, and
// a key of its that cannot be one is our fault, not the sender's.
func TestTenants(t *testing.T) {
	t.Parallel()
	down := errors.New("no database")
	find := webhook.SecretFunc(func(_ context.Context, h http.Header, _ []byte) (webhook.Secrets, string, error) {
		switch h.Get("Tenant") {
		case "down":
			return nil, "", down
		case "none":
			return nil, "", nil
		case "broken":
			return webhook.Secrets{"not hex"}, "", nil
		}
		return webhook.Secrets{secret}, h.Get("Tenant"), nil
	})
	for _, o := range []adyenhook.Options{{}, whole} {
		v, err := adyenhook.New(find, o)
		require.NoError(t, err)
		verify := func(tenant string) (webhook.Delivery, error) {
			h, body := http.Header{}, signed(authorised)
			if o.Form == adyenhook.Header {
				h, body = inHeader(created), created
			}
			h.Set("Tenant", tenant)
			return v.Verify(t.Context(), h, []byte(body))
		}
		d, err := verify("a")
		require.NoError(t, err)
		want := "a"
		if o.Form == adyenhook.Items {
			want = "1:a:ShopECOM"
		}
		require.Equal(t, want, d.Events[0].Tenant)
		_, err = verify("down")
		require.ErrorIs(t, err, webhook.ErrUnavailable)
		require.ErrorIs(t, err, down)
		_, err = verify("broken")
		require.ErrorIs(t, err, webhook.ErrUnavailable)
		require.NotContains(t, err.Error(), "not hex\"")
		_, err = verify("none")
		require.Equal(t, webhook.NoMatch, reason(err))
	}
}
