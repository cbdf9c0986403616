package slackhook_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/internal/vectors"
	"github.com/semel-go/semel/middleware/webhook/slackhook"
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
		_, err := slackhook.New(secrets, slackhook.Options{})
		require.ErrorIs(t, err, webhook.ErrSecrets, name)
		require.NotContains(t, err.Error(), secret, name)
	}
	_, err := slackhook.New(webhook.Secrets{secret}, slackhook.Options{Tolerance: -1, OncePerMessage: []string{"a:b", ""}})
	require.ErrorContains(t, err, "field Tolerance")
	require.ErrorContains(t, err, `field OncePerMessage: "a:b"`)
	require.ErrorContains(t, err, `field OncePerMessage: ""`)
}

// TestPolicy: Slack waits for 3 s, and its last retry comes after minutes.
func TestPolicy(t *testing.T) {
	t.Parallel()
	require.Equal(t, webhook.Policy{Patience: 3 * time.Second, Retention: 24 * time.Hour, MaxBody: 1 << 20}, open(t, slackhook.Options{}).Policy())
}

func TestRefused(t *testing.T) {
	t.Parallel()
	v := open(t, slackhook.Options{})
	genuine := request(signer(), mention).Header
	mac := strings.TrimPrefix(genuine.Get(header), "v0=")
	for _, name := range []string{header, stamp} {
		for want, values := range map[webhook.Reason][]string{
			webhook.MissingHeader: {},
			webhook.Malformed:     {genuine.Get(name), genuine.Get(name)},
		} {
			_, err := v.Verify(t.Context(), with(genuine, name, values...), []byte(mention))
			require.Equal(t, want, reason(err), "%s %q", name, values)
		}
	}
	for name, cases := range map[string]map[string]webhook.Reason{
		header: {
			"":                              webhook.MissingHeader,
			mac:                             webhook.Malformed,
			"v1=" + mac:                     webhook.Malformed,
			"V0=" + mac:                     webhook.Malformed,
			"v0=":                           webhook.Malformed,
			"v0=" + mac[:62]:                webhook.Malformed,
			"v0=" + mac + "00":              webhook.Malformed,
			"v0=zz" + mac[2:]:               webhook.Malformed,
			"v0= " + mac:                    webhook.Malformed,
			"v0=" + mac + ",v0=" + mac:      webhook.Malformed,
			strings.Repeat("a", 5000):       webhook.Malformed,
			"v0=" + strings.Repeat("0", 64): webhook.NoMatch,
		},
		stamp: {
			"":                       webhook.MissingHeader,
			"x":                      webhook.Malformed,
			"-1":                     webhook.Malformed,
			"1735732800:":            webhook.Malformed,
			"99999999999999999999":   webhook.Malformed,
			"0" + genuine.Get(stamp): webhook.NoMatch,
			"1735732801":             webhook.NoMatch,
		},
	} {
		for value, want := range cases {
			_, err := v.Verify(t.Context(), with(genuine, name, value), []byte(mention))
			require.Equal(t, want, reason(err), "%s: %q", name, value)
			require.NotContains(t, err.Error(), mac)
			require.NotContains(t, err.Error(), secret)
		}
	}
	_, err := v.Verify(t.Context(), with(genuine, header, "v0="+strings.ToUpper(mac)), []byte(mention))
	require.NoError(t, err, "hex in capitals")
}

// TestAge: the tolerance counts both ways, and only for what is signed.
func TestAge(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		age  time.Duration
		o    slackhook.Options
		want webhook.Reason
	}{
		"just young enough":  {5 * time.Minute, slackhook.Options{}, ""},
		"too old":            {5*time.Minute + time.Second, slackhook.Options{}, webhook.Expired},
		"just not too early": {-5 * time.Minute, slackhook.Options{}, ""},
		"from the future":    {-5*time.Minute - time.Second, slackhook.Options{}, webhook.Expired},
		"old and allowed":    {time.Hour, slackhook.Options{Tolerance: time.Hour}, ""},
		"strict":             {2 * time.Second, slackhook.Options{Tolerance: time.Second}, webhook.Expired},
	} {
		v, h := open(t, tc.o), request(signer().At(now.Add(-tc.age)), mention).Header
		_, err := v.Verify(t.Context(), h, []byte(mention))
		require.Equal(t, tc.want, reason(err), name)
		require.Equal(t, tc.want == "", err == nil, name)
		_, err = v.Verify(t.Context(), h, []byte(mention+" "))
		require.Equal(t, webhook.NoMatch, reason(err), name)
	}
	v, err := slackhook.New(webhook.Secrets{secret}, slackhook.Options{})
	require.NoError(t, err)
	_, err = v.Verify(t.Context(), request(signer().At(time.Time{}), mention).Header, []byte(mention))
	require.NoError(t, err, "the system's clock")
}

func TestRotation(t *testing.T) {
	t.Parallel()
	genuine := request(signer(), mention).Header
	for _, secrets := range [][]string{{secret, old}, {old, secret}} {
		d, err := open(t, slackhook.Options{}, secrets...).Verify(t.Context(), genuine, []byte(mention))
		event(t, d, err)
	}
	_, err := open(t, slackhook.Options{}, old).Verify(t.Context(), genuine, []byte(mention))
	require.Equal(t, webhook.NoMatch, reason(err))
}

func TestTenants(t *testing.T) {
	t.Parallel()
	down := errors.New("no database")
	v, err := slackhook.New(webhook.SecretFunc(func(_ context.Context, h http.Header, _ []byte) (webhook.Secrets, string, error) {
		if h.Get("X-Down") != "" {
			return nil, "", down
		}
		return webhook.Secrets{secret}, "bots", nil
	}), slackhook.Options{Now: func() time.Time { return now }})
	require.NoError(t, err)
	genuine := request(signer(), mention).Header
	_, err = v.Verify(t.Context(), with(genuine, "X-Down", "1"), []byte(mention))
	require.ErrorIs(t, err, webhook.ErrUnavailable)
	require.ErrorIs(t, err, down)
	d, err := v.Verify(t.Context(), genuine, []byte(mention))
	require.Equal(t, "4:bots:A0MDYCDME/T061EG9R6", event(t, d, err).Tenant)
}

// TestRetryHeaders: they tell the attempt, and nothing that they hold refuses or
// drops a delivery.
func TestRetryHeaders(t *testing.T) {
	t.Parallel()
	v := open(t, slackhook.Options{})
	genuine := request(signer().Retry(2), mention).Header
	for want, values := range map[int][][]string{
		2:     {{"2"}},
		65535: {{"65535"}},
		0:     {nil, {""}, {"x"}, {"-1"}, {"1.5"}, {"99999999999999999999"}, {strings.Repeat("9", 5000)}},
	} {
		for _, value := range values {
			d, err := v.Verify(t.Context(), with(genuine, "X-Slack-Retry-Num", value...), []byte(mention))
			require.Equal(t, want, event(t, d, err).Attempt)
		}
	}
	d, err := v.Verify(t.Context(), with(genuine, "X-Slack-Retry-Num", "1", "2"), []byte(mention))
	event(t, d, err)
}

// TestBitFlips: no bit of body, timestamp or signature can be changed, but for
// the case of the letters in a hex number.
func TestBitFlips(t *testing.T) {
	t.Parallel()
	v := open(t, slackhook.Options{})
	for _, body := range []string{mention, command, interaction(click)} {
		genuine := request(signer(), body).Header
		for bit, flipped := range vectors.Flips([]byte(body)) {
			_, err := v.Verify(t.Context(), genuine, flipped)
			require.Equal(t, webhook.NoMatch, reason(err), "bit %d of the body", bit)
		}
		for bit, value := range vectors.Flips([]byte(genuine.Get(stamp))) {
			_, err := v.Verify(t.Context(), with(genuine, stamp, string(value)), []byte(body))
			require.ErrorIs(t, err, webhook.ErrRefused, "bit %d of the timestamp: %s", bit, value)
		}
		for bit, value := range vectors.Flips([]byte(genuine.Get(header))) {
			_, err := v.Verify(t.Context(), with(genuine, header, string(value)), []byte(body))
			if err == nil {
				require.Equal(t, "v0=", string(value[:3]))
				require.True(t, strings.EqualFold(genuine.Get(header), string(value)), "bit %d of the header: %s", bit, value)
				continue
			}
			require.ErrorIs(t, err, webhook.ErrRefused)
		}
	}
}
