package stripehook_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/internal/vectors"
	"github.com/semel-go/semel/middleware/webhook/stripehook"
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
		"space":        webhook.Secrets{" " + secret},
	} {
		_, err := stripehook.New(secrets, stripehook.Options{})
		require.ErrorIs(t, err, webhook.ErrSecrets, name)
		require.NotContains(t, err.Error(), secret, name)
	}
	_, err := stripehook.New(webhook.Secrets{secret}, stripehook.Options{Tolerance: -1, OncePerObject: []string{"a:b", ""}})
	require.ErrorContains(t, err, "field Tolerance")
	require.ErrorContains(t, err, `field OncePerObject: "a:b"`)
	require.ErrorContains(t, err, `field OncePerObject: ""`)
}

func TestEvent(t *testing.T) {
	t.Parallel()
	v := open(t, stripehook.Options{})
	require.Equal(t, webhook.Event{
		Provider: "stripe", Tenant: "acct_9", ID: "evt_1Q", IDSigned: true, Type: "invoice.paid", Resource: "in_7",
		Time: time.Unix(1735689600, 0).UTC(), Body: []byte(paid),
	}, event(t, v, paid))
	require.Equal(t, "stripe", v.Provider())

	thin := `{"id":"evt_2","object":"v2.core.event","type":"v1.billing.meter.x","created":"2025-01-01T00:00:00.5Z",` +
		`"context":"acct_8","related_object":{"id":"mtr_1"}}`
	e := event(t, v, thin)
	require.Equal(t, []string{"evt_2", "acct_8", "mtr_1", "v1.billing.meter.x"}, []string{e.ID, e.Tenant, e.Resource, e.Type})
	require.True(t, e.Time.Equal(time.Date(2025, 1, 1, 0, 0, 0, 5e8, time.UTC)))
}

// TestEnvelope: names mean what they are, letter by letter, and only once.
func TestEnvelope(t *testing.T) {
	t.Parallel()
	v := open(t, stripehook.Options{})
	for body, id := range map[string]string{
		`{"id":"evt_1"}`:                             "evt_1",
		`{"ID":"evt_2","id":"evt_1"}`:                "evt_1",
		`{"id":"evt_1","Id":"evt_2"}`:                "evt_1",
		`{"\u0069d":"evt_\u0031"}`:                   "evt_1",
		"\n{ \"id\" : \"evt_1\" , \"data\" : null }": "evt_1",
		`{"data":{"id":"evt_2"},"id":"evt_1"}`:       "evt_1",
	} {
		require.Equal(t, id, event(t, v, body).ID, body)
	}
	for _, body := range []string{
		`{}`, `{"id":""}`, `{"id":null}`, `{"id":7}`, `{"ID":"evt_1"}`, `{"id":{"id":"evt_1"}}`, `{"id":"\ud800"}`,
		`[]`, `null`, `"id"`, `{"id":"cus_1","object":"customer"}`,
	} {
		_, err := v.Verify(t.Context(), sign(body, now), []byte(body))
		require.ErrorIs(t, err, webhook.ErrNoEvent, body)
		require.Empty(t, reason(err), body)
	}
	for _, body := range []string{
		"", "{", `{"id":"evt_1"}{}`, "\ufeff{\"id\":\"evt_1\"}", "\x00",
		`{"id":"evt_1","id":"evt_1"}`, `{"id":"evt_1","\u0069d":"evt_2"}`,
		`{"id":"evt_1","account":"acct_1","account":"acct_2"}`,
		`{"id":"evt_1","data":{"object":{"id":"a"}},"data":{"object":{}}}`,
	} {
		_, err := v.Verify(t.Context(), sign(body, now), []byte(body))
		require.Equal(t, webhook.Malformed, reason(err), body)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	v := open(t, stripehook.Options{})
	genuine := sign(paid, now).Get(header)
	mac := strings.Split(genuine, "v1=")[1]
	at := fmt.Sprintf("t=%d", now.Unix())
	for value, want := range map[string]webhook.Reason{
		"":                               webhook.MissingHeader,
		"garbage":                        webhook.Malformed,
		"v1=" + mac:                      webhook.Malformed, // no timestamp
		"t=,v1=" + mac:                   webhook.Malformed,
		"t=x,v1=" + mac:                  webhook.Malformed,
		"t=-1,v1=" + mac:                 webhook.Malformed,
		"t=99999999999999999999,v1=":     webhook.Malformed,
		genuine + ",":                    webhook.Malformed,
		genuine + ",x=a=b":               webhook.Malformed,
		strings.Repeat("a", 5000):        webhook.Malformed,
		at:                               webhook.NoMatch,
		at + ",v1=":                      webhook.NoMatch,
		at + ",v1=" + mac[:62]:           webhook.NoMatch,
		at + ",v0=" + mac:                webhook.NoMatch,
		at + ", v1=" + mac:               webhook.NoMatch,
		at + ",v1=zz" + mac[2:]:          webhook.NoMatch,
		genuine + ",t=1":                 webhook.NoMatch, // the last counts
		"t=999999999999999999,v1=" + mac: webhook.NoMatch,
	} {
		_, err := v.Verify(t.Context(), http.Header{header: {value}}, []byte(paid))
		require.ErrorIs(t, err, webhook.ErrRefused, value)
		require.Equal(t, want, reason(err), value)
		require.NotContains(t, err.Error(), mac)
		require.NotContains(t, err.Error(), secret)
	}
	_, err := v.Verify(t.Context(), http.Header{}, []byte(paid))
	require.Equal(t, webhook.MissingHeader, reason(err))
	_, err = v.Verify(t.Context(), http.Header{header: {genuine, genuine}}, []byte(paid))
	require.Equal(t, webhook.Malformed, reason(err), "the same header twice")

	for value, why := range map[string]string{
		"t=1," + genuine:                     "an earlier t does not count",
		"v0=00," + genuine:                   "another scheme is skipped",
		at + ",v1=" + strings.ToUpper(mac):   "hex in capitals",
		at + ",v1=zz,v1=00,v1=" + mac:        "signatures of other secrets",
		at + ",v1=" + mac + ",v1=" + mac[2:]: "and after it",
	} {
		_, err := v.Verify(t.Context(), http.Header{header: {value}}, []byte(paid))
		require.NoError(t, err, why)
	}
}

// TestAge: the tolerance counts both ways, and only for what is signed.
func TestAge(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		age  time.Duration
		o    stripehook.Options
		want webhook.Reason
	}{
		"just young enough":  {5 * time.Minute, stripehook.Options{}, ""},
		"too old":            {5*time.Minute + time.Second, stripehook.Options{}, webhook.Expired},
		"just not too early": {-5 * time.Minute, stripehook.Options{}, ""},
		"from the future":    {-5*time.Minute - time.Second, stripehook.Options{}, webhook.Expired},
		"in ten years":       {-10 * 365 * 24 * time.Hour, stripehook.Options{}, webhook.Expired},
		"old and allowed":    {time.Hour, stripehook.Options{Tolerance: time.Hour}, ""},
		"strict":             {2 * time.Second, stripehook.Options{Tolerance: time.Second}, webhook.Expired},
	} {
		v := open(t, tc.o)
		_, err := v.Verify(t.Context(), sign(paid, now.Add(-tc.age)), []byte(paid))
		require.Equal(t, tc.want, reason(err), name)
		require.Equal(t, tc.want == "", err == nil, name)
		_, err = v.Verify(t.Context(), sign(paid, now.Add(-tc.age)), []byte(paid+" "))
		require.Equal(t, webhook.NoMatch, reason(err), name)
	}
	v, err := stripehook.New(webhook.Secrets{secret}, stripehook.Options{})
	require.NoError(t, err)
	_, err = v.Verify(t.Context(), sign(paid, time.Now()), []byte(paid))
	require.NoError(t, err, "the system's clock")
}

func TestRotation(t *testing.T) {
	t.Parallel()
	for _, secrets := range [][]string{{secret, old}, {old, secret}} {
		event(t, open(t, stripehook.Options{}, secrets...), paid)
	}
	_, err := open(t, stripehook.Options{}, old).Verify(t.Context(), sign(paid, now), []byte(paid))
	require.Equal(t, webhook.NoMatch, reason(err))
}

func TestTenants(t *testing.T) {
	t.Parallel()
	verify := func(source webhook.SecretFunc, account string) (webhook.Event, error) {
		v, err := stripehook.New(source, stripehook.Options{Now: func() time.Time { return now }})
		require.NoError(t, err)
		body := `{"id":"evt_1","account":"` + account + `"}`
		d, err := v.Verify(t.Context(), sign(body, now), []byte(body))
		if err != nil {
			return webhook.Event{}, err
		}
		return d.Events[0], nil
	}
	of := func(tenant string) webhook.SecretFunc {
		return func(context.Context, http.Header, []byte) (webhook.Secrets, string, error) {
			return webhook.Secrets{secret}, tenant, nil
		}
	}
	seen := map[string][]string{}
	for _, pair := range [][]string{{"", ""}, {"a", ""}, {"", "a"}, {"a", "b"}, {"ab", ""}, {"a:", "b"}, {"a", ":b"}, {"a:b", ""}, {"1:a", "b"}} {
		e, err := verify(of(pair[0]), pair[1])
		require.NoError(t, err)
		require.NotContains(t, seen, e.Tenant, "%q and %q", pair, seen[e.Tenant])
		seen[e.Tenant] = pair
	}

	down := errors.New("no database")
	_, err := verify(func(context.Context, http.Header, []byte) (webhook.Secrets, string, error) { return nil, "", down }, "")
	require.ErrorIs(t, err, webhook.ErrUnavailable)
	require.ErrorIs(t, err, down)
	_, err = verify(func(context.Context, http.Header, []byte) (webhook.Secrets, string, error) { return nil, "", nil }, "")
	require.Equal(t, webhook.NoMatch, reason(err))
}

// TestOncePerObject: of the types that are named, two events about one object
// are one.
func TestOncePerObject(t *testing.T) {
	t.Parallel()
	v := open(t, stripehook.Options{OncePerObject: []string{"checkout.session.completed"}})
	id := func(id, kind, object string) string {
		return event(t, v, fmt.Sprintf(`{"id":%q,"object":"event","type":%q,"data":{"object":{"id":%q}}}`, id, kind, object)).ID
	}
	first := id("evt_1", "checkout.session.completed", "cs_1")
	require.Equal(t, "checkout.session.completed:cs_1", first)
	require.Equal(t, first, id("evt_2", "checkout.session.completed", "cs_1"))
	require.NotEqual(t, first, id("evt_3", "checkout.session.completed", "cs_2"))
	require.Equal(t, "evt_4", id("evt_4", "checkout.session.expired", "cs_1"))
	require.Equal(t, "evt_5", id("evt_5", "checkout.session.completed", ""))
}

// TestBitFlips: no bit of body or header can be changed, but for the case of the
// letters in a hex number.
func TestBitFlips(t *testing.T) {
	t.Parallel()
	v := open(t, stripehook.Options{})
	genuine := sign(paid, now)
	for bit, body := range vectors.Flips([]byte(paid)) {
		_, err := v.Verify(t.Context(), genuine, body)
		require.Equal(t, webhook.NoMatch, reason(err), "bit %d of the body", bit)
	}
	spared := 0
	for bit, value := range vectors.Flips([]byte(genuine.Get(header))) {
		_, err := v.Verify(t.Context(), http.Header{header: {string(value)}}, []byte(paid))
		if err == nil && strings.EqualFold(string(value), genuine.Get(header)) {
			spared++
			continue
		}
		require.ErrorIs(t, err, webhook.ErrRefused, "bit %d of the header: %s", bit, value)
	}
	letters := strings.Count(genuine.Get(header), "")
	for _, digit := range "0123456789tv,=" {
		letters -= strings.Count(genuine.Get(header), string(digit))
	}
	require.Equal(t, letters-1, spared)
}
