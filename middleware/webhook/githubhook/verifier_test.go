package githubhook_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/githubhook"
	"github.com/semel-go/semel/middleware/webhook/internal/vectors"
)

// read returns the body of r.
func read(t *testing.T, r *http.Request) []byte {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return body
}

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
		_, err := githubhook.New(secrets, githubhook.Options{})
		require.ErrorIs(t, err, webhook.ErrSecrets, name)
		require.NotContains(t, err.Error(), secret, name)
	}
}

// TestPolicy: GitHub waits for 10 s and does not come back.
func TestPolicy(t *testing.T) {
	t.Parallel()
	require.Equal(t, webhook.Policy{
		Wait: 5 * time.Second, Patience: 10 * time.Second, Retention: 7 * 24 * time.Hour, MaxBody: 25 << 20,
	}, open(t).Policy())
}

func TestEvent(t *testing.T) {
	t.Parallel()
	v := open(t)
	require.Equal(t, "github", v.Provider())
	want := webhook.Event{
		Provider: "github", Tenant: "292430182", ID: "72d3162e-cc78-11e3-81ab-4c9367dc0958", Type: "issues",
		Resource: "1296269", Body: []byte(opened),
	}
	d, err := v.Verify(t.Context(), request(signer(), opened).Header, []byte(opened))
	require.Equal(t, want, event(t, d, err))

	h := with(request(signer(), "not JSON").Header, "X-Github-Hook-Id")
	d, err = v.Verify(t.Context(), h, []byte("not JSON"))
	require.Empty(t, event(t, d, err).Tenant, "a sender that has no hook's number")
}

// TestForm: the form is signed, and the event is in it.
func TestForm(t *testing.T) {
	t.Parallel()
	v, form := open(t), request(signer().Form(), opened)
	body := read(t, form)
	require.True(t, strings.HasPrefix(string(body), "payload=%7B"))
	d, err := v.Verify(t.Context(), form.Header, body)
	e := event(t, d, err)
	require.Equal(t, opened, string(e.Body))
	require.Equal(t, "application/json", e.ContentType)
	require.Equal(t, "1296269", e.Resource)

	_, err = v.Verify(t.Context(), form.Header, []byte(opened))
	require.Equal(t, webhook.NoMatch, reason(err), "the JSON is not what is signed")

	for _, body := range []string{
		"payload=%7B%7D&payload=%7B%7D", "payload=%7B%7D&x=1", "payload=%7B%7D;x=1", "payload=%", "payload=%zz",
		"payload=" + `{"repository":{"id":1,"id":2}}`,
	} {
		_, err := v.Verify(t.Context(), request(signer(), body).Header, []byte(body))
		require.Equal(t, webhook.Malformed, reason(err), body)
	}
}

// TestContentType: what the body is, it says itself. The Content-Type is not
// signed, and an issue's title could be read as a form.
func TestContentType(t *testing.T) {
	t.Parallel()
	v := open(t)
	title := `{"issue":{"title":"x&payload=%7B%22repository%22%3A%7B%22id%22%3A666%7D%7D"},"repository":{"id":1}}`
	for _, kind := range []string{"application/x-www-form-urlencoded", "application/json; charset=utf-8", "text/plain", ""} {
		d, err := v.Verify(t.Context(), with(request(signer(), title).Header, "Content-Type", kind), []byte(title))
		e := event(t, d, err)
		require.Equal(t, title, string(e.Body))
		require.Equal(t, "1", e.Resource)

		form := request(signer().Form(), title)
		d, err = v.Verify(t.Context(), with(form.Header, "Content-Type", kind), read(t, form))
		require.Equal(t, title, string(event(t, d, err).Body))
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	v := open(t)
	genuine := request(signer(), opened).Header
	mac := strings.TrimPrefix(genuine.Get(header), "sha256=")
	for _, name := range []string{header, "X-Github-Delivery", "X-Github-Event"} {
		for want, values := range map[webhook.Reason][]string{
			webhook.MissingHeader: {},
			webhook.Malformed:     {genuine.Get(name), genuine.Get(name)},
		} {
			_, err := v.Verify(t.Context(), with(genuine, name, values...), []byte(opened))
			require.Equal(t, want, reason(err), "%s %q", name, values)
		}
	}
	_, err := v.Verify(t.Context(), with(genuine, "X-Github-Hook-Id", "1", "2"), []byte(opened))
	require.Equal(t, webhook.Malformed, reason(err))

	for value, want := range map[string]webhook.Reason{
		"":                                  webhook.MissingHeader,
		mac:                                 webhook.Malformed,
		"sha1=" + mac[:40]:                  webhook.Malformed,
		"sha1=" + mac:                       webhook.Malformed,
		"SHA256=" + mac:                     webhook.Malformed,
		"sha256=":                           webhook.Malformed,
		"sha256=" + mac[:62]:                webhook.Malformed,
		"sha256=" + mac + "00":              webhook.Malformed,
		"sha256=zz" + mac[2:]:               webhook.Malformed,
		"sha256= " + mac:                    webhook.Malformed,
		"sha256=" + mac + ", sha256=" + mac: webhook.Malformed,
		strings.Repeat("a", 5000):           webhook.Malformed,
		"sha256=" + strings.Repeat("0", 64): webhook.NoMatch,
	} {
		_, err := v.Verify(t.Context(), with(genuine, header, value), []byte(opened))
		require.Equal(t, want, reason(err), value)
		require.NotContains(t, err.Error(), mac)
		require.NotContains(t, err.Error(), secret)
	}
	_, err = v.Verify(t.Context(), with(genuine, header, "sha256="+strings.ToUpper(mac)), []byte(opened))
	require.NoError(t, err, "hex in capitals")
	_, err = v.Verify(t.Context(), request(signer(), `{"repository":{},"repository":{}}`).Header, []byte(`{"repository":{},"repository":{}}`))
	require.Equal(t, webhook.Malformed, reason(err))
}

// TestNoSecret: a hook without a secret sends no signature, or one that the empty
// key makes, and neither passes.
func TestNoSecret(t *testing.T) {
	t.Parallel()
	genuine := request(signer(), opened).Header
	_, err := open(t).Verify(t.Context(), with(genuine, header), []byte(opened))
	require.Equal(t, webhook.MissingHeader, reason(err))
	mac := hmac.New(sha256.New, nil)
	mac.Write([]byte(opened))
	_, err = open(t).Verify(t.Context(), with(genuine, header, fmt.Sprintf("sha256=%x", mac.Sum(nil))), []byte(opened))
	require.Equal(t, webhook.NoMatch, reason(err))
}

func TestRotation(t *testing.T) {
	t.Parallel()
	genuine := request(signer(), opened).Header
	for _, secrets := range [][]string{{secret, old}, {old, secret}} {
		d, err := open(t, secrets...).Verify(t.Context(), genuine, []byte(opened))
		event(t, d, err)
	}
	_, err := open(t, old).Verify(t.Context(), genuine, []byte(opened))
	require.Equal(t, webhook.NoMatch, reason(err))
}

func TestTenants(t *testing.T) {
	t.Parallel()
	down := errors.New("no database")
	of := webhook.SecretFunc(func(_ context.Context, h http.Header, _ []byte) (webhook.Secrets, string, error) {
		if h.Get("X-Github-Hook-Id") == "1" {
			return nil, "", down
		}
		return webhook.Secrets{secret}, "customer", nil
	})
	v, err := githubhook.New(of, githubhook.Options{})
	require.NoError(t, err)
	_, err = v.Verify(t.Context(), request(signer().Hook("1"), opened).Header, []byte(opened))
	require.ErrorIs(t, err, webhook.ErrUnavailable)
	require.ErrorIs(t, err, down)
	d, err := v.Verify(t.Context(), request(signer().Hook("2"), opened).Header, []byte(opened))
	require.Equal(t, "8:customer:2", event(t, d, err).Tenant)
}

// TestBitFlips: no bit of the body or the signature can be changed, but for the
// case of the letters in a hex number; of what is not signed any can.
func TestBitFlips(t *testing.T) {
	t.Parallel()
	v := open(t)
	genuine := request(signer(), opened).Header
	for bit, body := range vectors.Flips([]byte(opened)) {
		_, err := v.Verify(t.Context(), genuine, body)
		require.Equal(t, webhook.NoMatch, reason(err), "bit %d of the body", bit)
	}
	form := request(signer().Form(), opened)
	for bit, body := range vectors.Flips(read(t, form)) {
		_, err := v.Verify(t.Context(), form.Header, body)
		require.Equal(t, webhook.NoMatch, reason(err), "bit %d of the form", bit)
	}
	value := genuine.Get(header)
	for bit, flipped := range vectors.Flips([]byte(value)) {
		_, err := v.Verify(t.Context(), with(genuine, header, string(flipped)), []byte(opened))
		if err == nil {
			require.Equal(t, value[:7], string(flipped[:7]))
			require.True(t, strings.EqualFold(value, string(flipped)), "bit %d of the header: %s", bit, flipped)
			continue
		}
		require.ErrorIs(t, err, webhook.ErrRefused)
	}
	for _, id := range vectors.Flips([]byte("d-1")) {
		d, err := v.Verify(t.Context(), with(genuine, "X-Github-Delivery", string(id)), []byte(opened))
		e := event(t, d, err)
		require.Equal(t, string(id), e.ID)
		require.False(t, e.IDSigned)
	}
}
