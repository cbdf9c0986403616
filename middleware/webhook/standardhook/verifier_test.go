package standardhook_test

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/internal/vectors"
	"github.com/semel-go/semel/middleware/webhook/standardhook"
	"github.com/semel-go/semel/middleware/webhook/webhooktest"
)

func TestConstructor(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		secrets webhook.SecretSource
		want    string
	}{
		"nil":             {nil, "nil source"},
		"nil function":    {webhook.SecretFunc(nil), "nil function"},
		"none":            {webhook.Secrets{}, "none"},
		"empty":           {webhook.Secrets{""}, "empty"},
		"newline":         {webhook.Secrets{secret + "\n"}, "white space"},
		"nothing in it":   {webhook.Secrets{"whsec_"}, "number 1 has 0 bytes"},
		"short":           {webhook.Secrets{secret, "whsec_c2hvcnQ="}, "number 2 has 5 bytes"},
		"long":            {webhook.Secrets{"whsec_" + strings.Repeat("AAAA", 22)}, "number 1 has 66 bytes"},
		"not base64":      {webhook.Secrets{"whsec_***hidden***"}, "number 1 is not base64"},
		"no prefix":       {webhook.Secrets{"hidden"}, "begins with neither"},
		"short public":    {webhook.Secrets{"whpk_c2hvcnQ="}, "a public key has 32"},
		"private":         {webhook.Secrets{"whsk_hidden"}, "private key"},
		"prefix of v1":    {webhook.Secrets{"v1,hidden"}, "begins with neither"},
		"two wrong at it": {webhook.Secrets{"hidden", "whsk_hidden"}, "number 2 is a private"},
	} {
		_, err := standardhook.New(tc.secrets, standardhook.Options{})
		require.ErrorIs(t, err, webhook.ErrSecrets, name)
		require.ErrorContains(t, err, tc.want, name)
		require.NotContains(t, err.Error(), "hidden", name)
	}
	_, err := standardhook.New(webhook.Secrets{secret}, standardhook.Options{Tolerance: -1, Name: "My Sender"})
	require.ErrorContains(t, err, "field Tolerance")
	require.ErrorContains(t, err, `field Name: "My Sender"`)

	for _, s := range []string{"v1," + secret, "v1a," + webhooktest.PublicKey(private(1)), strings.TrimRight(webhooktest.PublicKey(private(1)), "=")} {
		_, err := standardhook.New(webhook.Secrets{s}, standardhook.Options{})
		require.NoError(t, err, s)
	}
}

func TestEvent(t *testing.T) {
	t.Parallel()
	v, err := standardhook.New(webhook.Secrets{"v1," + secret}, standardhook.Options{Name: "clerk", Now: func() time.Time { return now }})
	require.NoError(t, err)
	require.Equal(t, "clerk", v.Provider())
	d, err := v.Verify(t.Context(), sign(signer(), body), []byte(body))
	require.NoError(t, err)
	require.Equal(t, webhook.Delivery{Events: []webhook.Event{{
		Provider: "clerk", ID: id, IDSigned: true, Type: "user.created",
		Time: time.Date(2025, 1, 1, 11, 59, 58, 25e7, time.UTC), Body: []byte(body),
	}}}, d)

	for _, body := range []string{"", "plain", "{", `{"type":7}`, `[{"type":"x"}]`, "\xff"} {
		d, err := open(t, secret).Verify(t.Context(), sign(signer(), body), []byte(body))
		require.NoError(t, err, body)
		require.Equal(t, "standard", d.Events[0].Provider)
		require.Equal(t, id, d.Events[0].ID, body)
		require.Empty(t, d.Events[0].Type, body)
	}
	twice := `{"type":"a","type":"b"}`
	_, err = open(t, secret).Verify(t.Context(), sign(signer(), twice), []byte(twice))
	require.Equal(t, webhook.Malformed, reason(err))
}

// TestFamilies: either family of headers, or both if they agree.
func TestFamilies(t *testing.T) {
	t.Parallel()
	v := open(t, secret)
	svix := sign(webhooktest.Svix(secret).At(now).ID(id), body)
	require.Empty(t, svix.Get("webhook-id"))
	both := sign(signer(), body)
	for name := range svix {
		both[name] = svix[name]
	}
	for _, h := range []http.Header{svix, both} {
		d, err := v.Verify(t.Context(), h, []byte(body))
		require.NoError(t, err)
		require.Equal(t, id, d.Events[0].ID)
	}
	for _, name := range []string{"svix-id", "svix-timestamp", "svix-signature", "webhook-id", "webhook-timestamp", "webhook-signature"} {
		h := both.Clone()
		h.Set(name, "1")
		_, err := v.Verify(t.Context(), h, []byte(body))
		require.Equal(t, webhook.Malformed, reason(err), name)
		require.ErrorContains(t, err, "differ", name)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	v := open(t, secret)
	genuine := sign(signer(), body)
	mac := strings.TrimPrefix(genuine.Get("webhook-signature"), "v1,")
	for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
		for want, values := range map[webhook.Reason][]string{
			webhook.MissingHeader: {},
			webhook.Malformed:     {genuine.Get(name), genuine.Get(name)},
		} {
			h := genuine.Clone()
			h[http.CanonicalHeaderKey(name)] = values
			_, err := v.Verify(t.Context(), h, []byte(body))
			require.Equal(t, want, reason(err), "%s %q", name, values)
		}
	}
	for want, cases := range map[webhook.Reason]map[string][]string{
		webhook.MissingHeader: {"webhook-id": {""}, "webhook-signature": {""}},
		webhook.Malformed: {
			"webhook-id":        {"msg.1", ".", strings.Repeat("a", 5000)},
			"webhook-timestamp": {"x", "-1", "+1", " ", "1.0", "99999999999999999999", genuine.Get("webhook-timestamp") + " "},
			"webhook-signature": {strings.Repeat("v2,AAAA ", 17), strings.Repeat("v", 5000)},
		},
		webhook.NoMatch: {
			"webhook-id":        {"msg_2aC", id + " "},
			"webhook-timestamp": {"0", "0" + genuine.Get("webhook-timestamp"), "999999999999999999"},
			"webhook-signature": {
				"v1", "v1,", "v1," + mac[:40], "v1," + mac + "=", "v2," + mac, "v1a," + mac, "V1," + mac, mac,
				"v1,v1," + mac, "v1," + mac + ",v1", "v1\t" + mac,
			},
		},
	} {
		for name, values := range cases {
			for _, value := range values {
				_, err := v.Verify(t.Context(), headers(name, value), []byte(body))
				require.Equal(t, want, reason(err), "%s: %q", name, value)
				require.NotContains(t, err.Error(), mac)
			}
		}
	}
	for _, list := range []string{
		"v2,AAAA v1," + mac, "v1," + mac + " v1", "  v1,AAAA   v1," + mac + "  ", "v1a," + mac + " , v1," + mac,
		strings.Repeat("v1,AAAA ", 15) + "v1," + mac, "v1," + strings.TrimRight(mac, "="),
	} {
		_, err := v.Verify(t.Context(), headers("webhook-signature", list), []byte(body))
		require.NoError(t, err, list)
	}
}

// TestCut: what is signed for one id and body is no other id and body.
func TestCut(t *testing.T) {
	t.Parallel()
	v := open(t, secret)
	inner := strconv.FormatInt(now.Unix(), 10) + ".hello"
	h := sign(signer(), inner)
	_, err := v.Verify(t.Context(), h, []byte(inner))
	require.NoError(t, err)
	h.Set("webhook-id", id+"."+h.Get("webhook-timestamp"))
	_, err = v.Verify(t.Context(), h, []byte("hello"))
	require.Equal(t, webhook.Malformed, reason(err))
}

func TestAge(t *testing.T) {
	t.Parallel()
	for age, want := range map[time.Duration]webhook.Reason{
		5 * time.Minute:                "",
		5*time.Minute + time.Second:    webhook.Expired,
		-5 * time.Minute:               "",
		-5*time.Minute - time.Second:   webhook.Expired,
		-10 * 365 * 24 * time.Hour:     webhook.Expired,
		50 * 365 * 24 * time.Hour:      webhook.Expired,
		time.Duration(0):               "",
		now.Sub(time.Unix(0, 0)):       webhook.Expired,
		-time.Duration(1<<62) + 1:      webhook.Expired,
		24*time.Hour - 500*time.Second: webhook.Expired,
	} {
		_, err := open(t, secret).Verify(t.Context(), sign(signer().At(now.Add(-age)), body), []byte(body))
		require.Equal(t, want, reason(err), age)
		require.Equal(t, want == "", err == nil, age)
	}
	v, err := standardhook.New(webhook.Secrets{secret}, standardhook.Options{Tolerance: time.Hour})
	require.NoError(t, err)
	_, err = v.Verify(t.Context(), sign(webhooktest.Standard(secret).At(time.Now().Add(-59*time.Minute)), body), []byte(body))
	require.NoError(t, err, "the system's clock")
}

// TestKeys: any of several secrets and keys, of either kind.
func TestKeys(t *testing.T) {
	t.Parallel()
	asymmetric := sign(webhooktest.StandardKey(private(1)).At(now).ID(id), body)
	both := sign(signer(), body)
	both.Set("webhook-signature", asymmetric.Get("webhook-signature")+" "+both.Get("webhook-signature"))
	one, two := webhooktest.PublicKey(private(1)), webhooktest.PublicKey(private(2))
	for name, tc := range map[string]struct {
		h       http.Header
		secrets []string
		want    webhook.Reason
	}{
		"new of two":          {sign(signer(), body), []string{old, secret}, ""},
		"old of two":          {sign(signer(), body), []string{secret, old}, ""},
		"old alone":           {sign(signer(), body), []string{old}, webhook.NoMatch},
		"public key":          {asymmetric, []string{one}, ""},
		"second public key":   {asymmetric, []string{two, old, one}, ""},
		"another public key":  {asymmetric, []string{two}, webhook.NoMatch},
		"no public key":       {asymmetric, []string{secret}, webhook.NoMatch},
		"no secret":           {sign(signer(), body), []string{one}, webhook.NoMatch},
		"both, public key":    {both, []string{one}, ""},
		"both, secret":        {both, []string{secret}, ""},
		"both, neither":       {both, []string{old, two}, webhook.NoMatch},
		"both, wrong and new": {both, []string{two, secret}, ""},
	} {
		_, err := open(t, tc.secrets...).Verify(t.Context(), tc.h, []byte(body))
		require.Equal(t, tc.want, reason(err), name)
		require.Equal(t, tc.want == "", err == nil, name)
	}
}

func TestTenants(t *testing.T) {
	t.Parallel()
	find := webhook.SecretFunc(func(_ context.Context, h http.Header, _ []byte) (webhook.Secrets, string, error) {
		switch tenant := h.Get("Tenant"); tenant {
		case "broken":
			return webhook.Secrets{"whsec_hidden"}, tenant, nil
		case "none":
			return nil, tenant, nil
		default:
			return webhook.Secrets{secret}, tenant, nil
		}
	})
	v, err := standardhook.New(find, standardhook.Options{Now: func() time.Time { return now }})
	require.NoError(t, err)
	d, err := v.Verify(t.Context(), headers("Tenant", "a"), []byte(body))
	require.NoError(t, err)
	require.Equal(t, "a", d.Events[0].Tenant)
	_, err = v.Verify(t.Context(), headers("Tenant", "none"), []byte(body))
	require.Equal(t, webhook.NoMatch, reason(err))
	_, err = v.Verify(t.Context(), headers("Tenant", "broken"), []byte(body))
	require.ErrorIs(t, err, webhook.ErrUnavailable)
	require.NotContains(t, err.Error(), "hidden")
}

// TestBitFlips: no bit of body, id, timestamp or signature can be changed.
func TestBitFlips(t *testing.T) {
	t.Parallel()
	v := open(t, secret, webhooktest.PublicKey(private(1)))
	for _, s := range []webhooktest.StandardSigner{signer(), webhooktest.StandardKey(private(1)).At(now).ID(id)} {
		genuine := sign(s, body)
		_, err := v.Verify(t.Context(), genuine, []byte(body))
		require.NoError(t, err)
		for bit, body := range vectors.Flips([]byte(body)) {
			_, err := v.Verify(t.Context(), genuine, body)
			require.Equal(t, webhook.NoMatch, reason(err), "bit %d of the body", bit)
		}
		for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
			for bit, value := range vectors.Flips([]byte(genuine.Get(name))) {
				h := genuine.Clone()
				h.Set(name, string(value))
				_, err := v.Verify(t.Context(), h, []byte(body))
				require.ErrorIs(t, err, webhook.ErrRefused, "bit %d of %s: %q", bit, name, value)
			}
		}
	}
}
