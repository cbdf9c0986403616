package squarehook_test

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
	"github.com/semel-go/semel/middleware/webhook/squarehook"
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
		_, err := squarehook.New(endpoint, secrets, squarehook.Options{})
		require.ErrorIs(t, err, webhook.ErrSecrets, name)
		require.NotContains(t, err.Error(), secret, name)
	}
	for _, url := range []string{
		"", "/webhooks", "shop.example/webhooks", "http://shop.example/webhooks", "https://", "https:///webhooks",
		endpoint + "\n", " " + endpoint, "https://shop.example/a b", "https://%zz/",
	} {
		_, err := squarehook.New(url, webhook.Secrets{secret}, squarehook.Options{})
		require.ErrorContains(t, err, "notification URL", "%q", url)
	}
	_, err := squarehook.New("", nil, squarehook.Options{MaxAge: -1})
	require.ErrorContains(t, err, "field MaxAge")
	require.ErrorContains(t, err, "notification URL")
	require.ErrorIs(t, err, webhook.ErrSecrets)
}

func TestEvent(t *testing.T) {
	t.Parallel()
	v := open(t, squarehook.Options{})
	require.Equal(t, webhook.Event{
		Provider: "square", Tenant: "ML9", ID: "6a8f5f28-54a1", IDSigned: true, Type: "payment.updated", Resource: "pay_7",
		Time: time.Date(2025, 1, 1, 11, 59, 58, 25e7, time.UTC), Body: []byte(updated),
	}, event(t, v, updated))
	require.Equal(t, "square", v.Provider())
	require.Equal(t, webhook.Policy{Patience: 10 * time.Second, Retention: 7 * 24 * time.Hour, MaxBody: 1 << 20}, v.Policy())
}

// TestEnvelope: names mean what they are, letter by letter, and only once.
func TestEnvelope(t *testing.T) {
	t.Parallel()
	v := open(t, squarehook.Options{})
	for body, id := range map[string]string{
		`{"event_id":"a"}`:                            "a",
		`{"Event_ID":"b","event_id":"a"}`:             "a",
		`{"data":{"event_id":"b"},"event_id":"a"}`:    "a",
		`{"event\u005fid":"\u0061","data":null}`:      "a",
		`{ "event_id" : "a" , "merchant_id" : null }`: "a",
	} {
		require.Equal(t, id, event(t, v, body).ID, body)
	}
	for _, body := range []string{`{}`, `{"event_id":""}`, `{"event_id":null}`, `{"event_id":7}`, `{"EVENT_ID":"a"}`, `[]`, `null`, `"a"`} {
		_, err := v.Verify(t.Context(), sign(body), []byte(body))
		require.ErrorIs(t, err, webhook.ErrNoEvent, body)
		require.Empty(t, reason(err), body)
	}
	for _, body := range []string{
		"", " ", "{", `{"event_id":"a"}{}`, "\ufeff{}", `{"event_id":"a","event_id":"a"}`,
		`{"event_id":"a","merchant_id":"b","merchant_id":"c"}`, `{"event_id":"a","data":{"id":"b"},"data":{}}`,
	} {
		_, err := v.Verify(t.Context(), sign(body), []byte(body))
		require.Equal(t, webhook.Malformed, reason(err), body)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	v := open(t, squarehook.Options{})
	genuine := sign(updated).Get(header)
	for value, want := range map[string]webhook.Reason{
		"":                        webhook.MissingHeader,
		"garbage":                 webhook.Malformed,
		genuine[:43] + "\n":       webhook.Malformed,
		genuine + ",":             webhook.Malformed,
		genuine + "," + genuine:   webhook.Malformed,
		strings.Repeat("a", 5000): webhook.Malformed,
		strings.Repeat("A", 43):   webhook.NoMatch,
	} {
		_, err := v.Verify(t.Context(), http.Header{header: {value}}, []byte(updated))
		require.ErrorIs(t, err, webhook.ErrRefused, value)
		require.Equal(t, want, reason(err), value)
		require.NotContains(t, err.Error(), genuine)
		require.NotContains(t, err.Error(), secret)
	}
	_, err := v.Verify(t.Context(), http.Header{}, []byte(updated))
	require.Equal(t, webhook.MissingHeader, reason(err))
	_, err = v.Verify(t.Context(), http.Header{header: {genuine, genuine}}, []byte(updated))
	require.Equal(t, webhook.Malformed, reason(err), "the same header twice")
	_, err = v.Verify(t.Context(), http.Header{"X-Square-Signature": {genuine}}, []byte(updated))
	require.Equal(t, webhook.MissingHeader, reason(err), "the older signature does not count")

	for _, body := range [][]byte{nil, {}} {
		for name, h := range map[string]http.Header{"signed": sign(""), "of another": sign(updated), "none": {}} {
			_, err := v.Verify(t.Context(), h, body)
			require.ErrorIs(t, err, webhook.ErrRefused, "empty body, %s", name)
		}
	}
}

// TestURL: what is signed is the URL that was configured, whatever the request
// says of itself.
func TestURL(t *testing.T) {
	t.Parallel()
	h := sign(updated)
	h.Set("Host", "evil.example")
	h.Set("X-Forwarded-Host", "evil.example")
	h.Set("X-Forwarded-Proto", "http")
	_, err := open(t, squarehook.Options{}).Verify(t.Context(), h, []byte(updated))
	require.NoError(t, err)
	for _, url := range []string{endpoint + "/", endpoint + "?", "https://SHOP.example/webhooks/square", "https://shop.example:443/webhooks/square"} {
		v, err := squarehook.New(url, webhook.Secrets{secret}, squarehook.Options{})
		require.NoError(t, err, url)
		_, err = v.Verify(t.Context(), h, []byte(updated))
		require.Equal(t, webhook.NoMatch, reason(err), url)
	}
}

func TestRotation(t *testing.T) {
	t.Parallel()
	for _, secrets := range [][]string{{secret, old}, {old, secret}} {
		event(t, open(t, squarehook.Options{}, secrets...), updated)
	}
	_, err := open(t, squarehook.Options{}, old).Verify(t.Context(), sign(updated), []byte(updated))
	require.Equal(t, webhook.NoMatch, reason(err))
}

func TestTenants(t *testing.T) {
	t.Parallel()
	down := errors.New("no database")
	find := webhook.SecretFunc(func(_ context.Context, h http.Header, _ []byte) (webhook.Secrets, string, error) {
		switch h.Get("Tenant") {
		case "down":
			return nil, "", down
		case "none":
			return nil, "", nil
		}
		return webhook.Secrets{secret}, h.Get("Tenant"), nil
	})
	v, err := squarehook.New(endpoint, find, squarehook.Options{})
	require.NoError(t, err)
	verify := func(tenant string) (webhook.Delivery, error) {
		h := sign(updated)
		h.Set("Tenant", tenant)
		return v.Verify(t.Context(), h, []byte(updated))
	}
	d, err := verify("a")
	require.NoError(t, err)
	require.Equal(t, "1:a:ML9", d.Events[0].Tenant)
	_, err = verify("down")
	require.ErrorIs(t, err, webhook.ErrUnavailable)
	require.ErrorIs(t, err, down)
	_, err = verify("none")
	require.Equal(t, webhook.NoMatch, reason(err))
}

// TestAge: with MaxAge, an event is believed for so long after it was made, and
// one that does not say when is not.
func TestAge(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		created string
		maxAge  time.Duration
		want    webhook.Reason
	}{
		"for ever":          {"2001-01-01T00:00:00Z", 0, ""},
		"no time, for ever": {"", 0, ""},
		"just young enough": {"2025-01-01T11:00:00Z", time.Hour, ""},
		"too old":           {"2025-01-01T10:59:59Z", time.Hour, webhook.Expired},
		"in the future":     {"2025-01-01T12:05:01Z", time.Hour, webhook.Expired},
		"a little ahead":    {"2025-01-01T12:05:00Z", time.Hour, ""},
		"no time":           {"", time.Hour, webhook.Expired},
		"not a time":        {"yesterday", time.Hour, webhook.Expired},
	} {
		body := `{"event_id":"a","created_at":"` + tc.created + `"}`
		_, err := open(t, squarehook.Options{MaxAge: tc.maxAge}).Verify(t.Context(), sign(body), []byte(body))
		require.Equal(t, tc.want, reason(err), name)
		require.Equal(t, tc.want == "", err == nil, name)
	}
	v, err := squarehook.New(endpoint, webhook.Secrets{secret}, squarehook.Options{MaxAge: time.Hour})
	require.NoError(t, err)
	body := `{"event_id":"a","created_at":"` + time.Now().UTC().Format(time.RFC3339) + `"}`
	_, err = v.Verify(t.Context(), sign(body), []byte(body))
	require.NoError(t, err, "the system's clock")
}

// TestAttempt: the number of the retry is told and decides nothing.
func TestAttempt(t *testing.T) {
	t.Parallel()
	v := open(t, squarehook.Options{})
	for value, want := range map[string]int{"": 0, "1": 1, "11": 11, "-1": 0, "x": 0, "99999": 0, strings.Repeat("1", 5000): 0} {
		h := sign(updated)
		h.Set("square-retry-number", value)
		d, err := v.Verify(t.Context(), h, []byte(updated))
		require.NoError(t, err, value)
		require.Equal(t, want, d.Events[0].Attempt, value)
		require.Equal(t, "6a8f5f28-54a1", d.Events[0].ID, value)
	}
}

// TestBitFlips: no bit of body or signature can be changed.
func TestBitFlips(t *testing.T) {
	t.Parallel()
	v := open(t, squarehook.Options{})
	genuine := sign(updated)
	for bit, body := range vectors.Flips([]byte(updated)) {
		_, err := v.Verify(t.Context(), genuine, body)
		require.Equal(t, webhook.NoMatch, reason(err), "bit %d of the body", bit)
	}
	for bit, value := range vectors.Flips([]byte(genuine.Get(header))) {
		_, err := v.Verify(t.Context(), http.Header{header: {string(value)}}, []byte(updated))
		require.ErrorIs(t, err, webhook.ErrRefused, "bit %d of the header: %s", bit, value)
	}
}
