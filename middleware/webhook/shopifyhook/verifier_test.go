package shopifyhook_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/internal/vectors"
	"github.com/semel-go/semel/middleware/webhook/shopifyhook"
)

func TestConstructor(t *testing.T) {
	t.Parallel()
	for name, secrets := range map[string]webhook.SecretSource{
		"nil":          nil,
		"nil function": webhook.SecretFunc(nil),
		"none":         webhook.Secrets{},
		"empty":        webhook.Secrets{""},
		"second empty": webhook.Secrets{secret, ""},
		"newline":      webhook.Secrets{secret + "\n"},
	} {
		_, err := shopifyhook.New(secrets, shopifyhook.Options{ID: 2})
		require.ErrorIs(t, err, webhook.ErrSecrets, name)
		require.ErrorContains(t, err, "field ID", name)
		require.NotContains(t, err.Error(), secret, name)
	}
	_, err := shopifyhook.New(webhook.Secrets{secret}, shopifyhook.Options{ID: -1})
	require.ErrorContains(t, err, "field ID")
}

// TestPolicy: Shopify waits for 5 s, and deletes subscriptions for 409.
func TestPolicy(t *testing.T) {
	t.Parallel()
	require.Equal(t, webhook.Policy{
		Wait: 2500 * time.Millisecond, Patience: 5 * time.Second, Retention: 7 * 24 * time.Hour, MaxBody: 1 << 20,
	}, open(t, shopifyhook.Options{}).Policy())
}

func TestEvent(t *testing.T) {
	t.Parallel()
	v := open(t, shopifyhook.Options{})
	require.Equal(t, "shopify", v.Provider())
	want := webhook.Event{
		Provider: "shopify", Tenant: "example.myshopify.com", ID: "b54557e4", Type: "orders/create",
		Resource: "820982911946154508", Time: now, Body: []byte(order),
	}
	genuine := request(signer(), order).Header
	d, err := v.Verify(t.Context(), genuine, []byte(order))
	require.Equal(t, want, event(t, d, err))

	d, err = v.Verify(t.Context(), with(genuine, "X-Shopify-Shop-Domain", "Example.MyShopify.com"), []byte(order))
	require.Equal(t, want, event(t, d, err), "a host has no case")
	for _, at := range []string{"", "yesterday"} {
		d, err = v.Verify(t.Context(), with(genuine, "X-Shopify-Triggered-At", at), []byte(order))
		require.Zero(t, event(t, d, err).Time)
	}
	d, err = v.Verify(t.Context(), request(signer(), "not JSON").Header, []byte("not JSON"))
	require.Empty(t, event(t, d, err).Resource)
}

// TestIDs: either id, and with the event's the topic, since one event may be told
// under several.
func TestIDs(t *testing.T) {
	t.Parallel()
	genuine := request(signer(), order).Header
	id := func(o shopifyhook.Options, h http.Header) string {
		d, err := open(t, o).Verify(t.Context(), h, []byte(order))
		return event(t, d, err).ID
	}
	require.Equal(t, "b54557e4", id(shopifyhook.Options{}, genuine))
	require.Equal(t, "orders/create:98880550", id(shopifyhook.Options{ID: shopifyhook.ByEvent}, genuine))
	require.Equal(t, "orders/paid:98880550", id(shopifyhook.Options{ID: shopifyhook.ByEvent}, with(genuine, "X-Shopify-Topic", "orders/paid")))
	for kind, name := range map[shopifyhook.IDKind]string{
		shopifyhook.ByWebhook: "X-Shopify-Webhook-Id",
		shopifyhook.ByEvent:   "X-Shopify-Event-Id",
	} {
		v := open(t, shopifyhook.Options{ID: kind})
		_, err := v.Verify(t.Context(), with(genuine, name), []byte(order))
		require.Equal(t, webhook.MissingHeader, reason(err), name)
		_, err = v.Verify(t.Context(), with(genuine, name, "a", "b"), []byte(order))
		require.Equal(t, webhook.Malformed, reason(err), name)
	}
}

// TestShop: where the body names its shop, the header must name the same.
func TestShop(t *testing.T) {
	t.Parallel()
	v := open(t, shopifyhook.Options{})
	for body, want := range map[string]webhook.Reason{
		`{"shop_id":1,"shop_domain":"example.myshopify.com"}`:                                     "",
		`{"shop_domain":"EXAMPLE.myshopify.com"}`:                                                 "",
		`{"myshopify_domain":"example.myshopify.com","domain":"shop.example"}`:                    "",
		`{"shop_domain":null}`:                                                                    "",
		`{"line_items":[{"shop_domain":"other.myshopify.com"}]}`:                                  "",
		`{"shop_domain":"other.myshopify.com"}`:                                                   webhook.Forged,
		`{"myshopify_domain":"other.myshopify.com"}`:                                              webhook.Forged,
		`{"myshopify_domain":"example.myshopify.com","shop_domain":"other.myshopify.com"}`:        webhook.Forged,
		`{"shop_domain":"example.myshopify.com","shop_domain":"other.myshopify.com"}`:             webhook.Malformed,
		`{"shop_domain":"example.myshopify.com","shop\u005fdomain":"example.myshopify.com.evil"}`: webhook.Malformed,
	} {
		_, err := v.Verify(t.Context(), request(signer(), body).Header, []byte(body))
		require.Equal(t, want, reason(err), body)
		require.Equal(t, want == "", err == nil, body)
	}
	of := webhook.SecretFunc(func(context.Context, http.Header, []byte) (webhook.Secrets, string, error) {
		return webhook.Secrets{secret}, "customer", nil
	})
	tenants, err := shopifyhook.New(of, shopifyhook.Options{})
	require.NoError(t, err)
	const body = `{"shop_domain":"example.myshopify.com"}`
	d, err := tenants.Verify(t.Context(), request(signer(), body).Header, []byte(body))
	require.Equal(t, "8:customer:example.myshopify.com", event(t, d, err).Tenant)
}

func TestRefused(t *testing.T) {
	t.Parallel()
	v := open(t, shopifyhook.Options{})
	genuine := request(signer(), order).Header
	mac := genuine.Get(header)
	raw, err := base64.StdEncoding.DecodeString(mac)
	require.NoError(t, err)
	for _, name := range []string{header, "X-Shopify-Webhook-Id", "X-Shopify-Shop-Domain", "X-Shopify-Topic"} {
		for want, values := range map[webhook.Reason][]string{
			webhook.MissingHeader: {},
			webhook.Malformed:     {genuine.Get(name), genuine.Get(name)},
		} {
			_, err := v.Verify(t.Context(), with(genuine, name, values...), []byte(order))
			require.Equal(t, want, reason(err), "%s %q", name, values)
		}
	}
	for value, want := range map[string]webhook.Reason{
		"":                        webhook.MissingHeader,
		hex.EncodeToString(raw):   webhook.Malformed,
		"sha256=" + mac:           webhook.Malformed,
		mac[:40]:                  webhook.Malformed,
		mac + "AAAA":              webhook.Malformed,
		" " + mac:                 webhook.Malformed,
		"!" + mac[1:]:             webhook.Malformed,
		strings.Repeat("a", 5000): webhook.Malformed,
		base64.StdEncoding.EncodeToString(make([]byte, 32)): webhook.NoMatch,
	} {
		_, err := v.Verify(t.Context(), with(genuine, header, value), []byte(order))
		require.Equal(t, want, reason(err), value)
		require.NotContains(t, err.Error(), mac)
	}
}

func TestRotation(t *testing.T) {
	t.Parallel()
	genuine := request(signer(), order).Header
	for _, secrets := range [][]string{{secret, old}, {old, secret}} {
		d, err := open(t, shopifyhook.Options{}, secrets...).Verify(t.Context(), genuine, []byte(order))
		event(t, d, err)
	}
	_, err := open(t, shopifyhook.Options{}, old).Verify(t.Context(), genuine, []byte(order))
	require.Equal(t, webhook.NoMatch, reason(err))
}

func TestTenantsDown(t *testing.T) {
	t.Parallel()
	down := errors.New("no database")
	v, err := shopifyhook.New(webhook.SecretFunc(func(context.Context, http.Header, []byte) (webhook.Secrets, string, error) {
		return nil, "", down
	}), shopifyhook.Options{})
	require.NoError(t, err)
	_, err = v.Verify(t.Context(), request(signer(), order).Header, []byte(order))
	require.ErrorIs(t, err, webhook.ErrUnavailable)
	require.ErrorIs(t, err, down)
}

// TestBitFlips: no bit of the body or the signature can be changed; of what is
// not signed any can.
func TestBitFlips(t *testing.T) {
	t.Parallel()
	v := open(t, shopifyhook.Options{})
	genuine := request(signer(), order).Header
	for bit, body := range vectors.Flips([]byte(order)) {
		_, err := v.Verify(t.Context(), genuine, body)
		require.Equal(t, webhook.NoMatch, reason(err), "bit %d of the body", bit)
	}
	for bit, value := range vectors.Flips([]byte(genuine.Get(header))) {
		_, err := v.Verify(t.Context(), with(genuine, header, string(value)), []byte(order))
		require.ErrorIs(t, err, webhook.ErrRefused, "bit %d of the header: %s", bit, value)
	}
	for _, id := range vectors.Flips([]byte("w-1")) {
		d, err := v.Verify(t.Context(), with(genuine, "X-Shopify-Webhook-Id", string(id)), []byte(order))
		e := event(t, d, err)
		require.Equal(t, string(id), e.ID)
		require.False(t, e.IDSigned)
	}
}
