package paddlehook_test

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
	"github.com/semel-go/semel/middleware/webhook/paddlehook"
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
		_, err := paddlehook.New(secrets, paddlehook.Options{})
		require.ErrorIs(t, err, webhook.ErrSecrets, name)
		require.NotContains(t, err.Error(), secret, name)
	}
	_, err := paddlehook.New(nil, paddlehook.Options{MaxAge: -1})
	require.ErrorContains(t, err, "field MaxAge")
	require.ErrorIs(t, err, webhook.ErrSecrets)
}

func TestEvent(t *testing.T) {
	t.Parallel()
	v := open(t, paddlehook.Options{})
	require.Equal(t, webhook.Event{
		Provider: "paddle", ID: "evt_01k", IDSigned: true, Type: "transaction.completed", Resource: "txn_7",
		Time: time.Date(2025, 1, 1, 11, 59, 58, 25e7, time.UTC), Body: []byte(completed),
	}, event(t, v, completed))
	require.Equal(t, "paddle", v.Provider())
	require.Equal(t, webhook.Policy{Patience: 5 * time.Second, Retention: 30 * 24 * time.Hour, MaxBody: 1 << 20}, v.Policy())

	replayed := strings.Replace(completed, "ntf_01k", "ntf_02m", 1)
	require.Equal(t, "evt_01k", event(t, v, replayed).ID, "a replay is another notification of the same event")
}

// TestEnvelope: names mean what they are, letter by letter, and only once.
func TestEnvelope(t *testing.T) {
	t.Parallel()
	v := open(t, paddlehook.Options{})
	for body, id := range map[string]string{
		`{"event_id":"a"}`:                             "a",
		`{"Event_ID":"b","event_id":"a"}`:              "a",
		`{"data":{"event_id":"b"},"event_id":"a"}`:     "a",
		`{"event\u005fid":"\u0061","data":null}`:       "a",
		`{ "event_id" : "a" , "event_type" : null }`:   "a",
		`{"event_id":"a","notification_id":"ntf_01k"}`: "a",
	} {
		require.Equal(t, id, event(t, v, body).ID, body)
	}
	for _, body := range []string{
		`{}`, `{"event_id":""}`, `{"event_id":null}`, `{"event_id":7}`, `{"notification_id":"a"}`, `[]`, `null`, `"a"`,
	} {
		_, err := v.Verify(t.Context(), sign(body, now), []byte(body))
		require.ErrorIs(t, err, webhook.ErrNoEvent, body)
		require.Empty(t, reason(err), body)
	}
	for _, body := range []string{
		"", " ", "{", `{"event_id":"a"}{}`, "\ufeff{}", `{"event_id":"a","event_id":"a"}`,
		`{"event_id":"a","event_type":"b","event_type":"c"}`, `{"event_id":"a","data":{"id":"b"},"data":{}}`,
	} {
		_, err := v.Verify(t.Context(), sign(body, now), []byte(body))
		require.Equal(t, webhook.Malformed, reason(err), body)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	v := open(t, paddlehook.Options{})
	genuine := sign(completed, now).Get(header)
	mac := strings.Split(genuine, "h1=")[1]
	at := fmt.Sprintf("ts=%d", now.Unix())
	for value, want := range map[string]webhook.Reason{
		"":                                webhook.MissingHeader,
		"garbage":                         webhook.Malformed,
		"h1=" + mac:                       webhook.Malformed, // no timestamp
		"ts=;h1=" + mac:                   webhook.Malformed,
		"ts=x;h1=" + mac:                  webhook.Malformed,
		"ts=-1;h1=" + mac:                 webhook.Malformed,
		"ts=99999999999999999999;h1=":     webhook.Malformed,
		genuine + ";":                     webhook.Malformed,
		genuine + ";ts=1":                 webhook.Malformed, // two of them
		at + ";" + genuine:                webhook.Malformed,
		at + strings.Repeat(";h1=00", 17): webhook.Malformed,
		strings.Repeat("a", 5000):         webhook.Malformed,
		at:                                webhook.NoMatch,
		at + ";h1=":                       webhook.NoMatch,
		at + ";h1=" + mac[:62]:            webhook.NoMatch,
		at + ";h2=" + mac:                 webhook.NoMatch,
		at + ";H1=" + mac:                 webhook.NoMatch,
		at + "; h1=" + mac:                webhook.NoMatch,
		at + ";h1=zz" + mac[2:]:           webhook.NoMatch,
		at + ",h1=" + mac:                 webhook.Malformed,
		"ts=0" + genuine[3:]:              webhook.NoMatch, // the same time in another text
		"ts=999999999999999999;h1=" + mac: webhook.NoMatch,
	} {
		_, err := v.Verify(t.Context(), http.Header{header: {value}}, []byte(completed))
		require.ErrorIs(t, err, webhook.ErrRefused, value)
		require.Equal(t, want, reason(err), value)
		require.NotContains(t, err.Error(), mac)
		require.NotContains(t, err.Error(), secret)
	}
	_, err := v.Verify(t.Context(), http.Header{}, []byte(completed))
	require.Equal(t, webhook.MissingHeader, reason(err))
	_, err = v.Verify(t.Context(), http.Header{header: {genuine, genuine}}, []byte(completed))
	require.Equal(t, webhook.Malformed, reason(err), "the same header twice")

	for value, why := range map[string]string{
		"h1=" + mac + ";" + at:                           "in another order",
		"v0=00;" + genuine:                               "another scheme is skipped",
		at + ";h1=" + strings.ToUpper(mac):               "hex in capitals",
		at + strings.Repeat(";h1=00", 15) + ";h1=" + mac: "as many as may be",
	} {
		_, err := v.Verify(t.Context(), http.Header{header: {value}}, []byte(completed))
		require.NoError(t, err, why)
	}
}

// TestCut: what is signed for one time and body is no other time and body.
func TestCut(t *testing.T) {
	t.Parallel()
	v := open(t, paddlehook.Options{})
	h := sign("7:"+completed, now)
	h.Set(header, strings.Replace(h.Get(header), ";", ":7;", 1))
	_, err := v.Verify(t.Context(), h, []byte(completed))
	require.Equal(t, webhook.Malformed, reason(err))
}

// TestAge: a signature is believed for as long as Paddle may retry, and one of
// the future hardly at all; and only what is signed counts.
func TestAge(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for name, tc := range map[string]struct {
		age  time.Duration
		o    paddlehook.Options
		want webhook.Reason
	}{
		"the last retry":     {3*day + time.Hour, paddlehook.Options{}, ""},
		"just young enough":  {4 * day, paddlehook.Options{}, ""},
		"too old":            {4*day + time.Second, paddlehook.Options{}, webhook.Expired},
		"just not too early": {-5 * time.Minute, paddlehook.Options{}, ""},
		"from the future":    {-5*time.Minute - time.Second, paddlehook.Options{}, webhook.Expired},
		"strict":             {2 * time.Second, paddlehook.Options{MaxAge: time.Second}, webhook.Expired},
		"strict, early":      {-2 * time.Second, paddlehook.Options{MaxAge: time.Second}, webhook.Expired},
		"old and allowed":    {9 * day, paddlehook.Options{MaxAge: 10 * day}, ""},
		"early, not allowed": {-time.Hour, paddlehook.Options{MaxAge: 10 * day}, webhook.Expired},
	} {
		v := open(t, tc.o)
		_, err := v.Verify(t.Context(), sign(completed, now.Add(-tc.age)), []byte(completed))
		require.Equal(t, tc.want, reason(err), name)
		require.Equal(t, tc.want == "", err == nil, name)
		_, err = v.Verify(t.Context(), sign(completed, now.Add(-tc.age)), []byte(completed+" "))
		require.Equal(t, webhook.NoMatch, reason(err), name)
	}
	v, err := paddlehook.New(webhook.Secrets{secret}, paddlehook.Options{})
	require.NoError(t, err)
	_, err = v.Verify(t.Context(), sign(completed, time.Now()), []byte(completed))
	require.NoError(t, err, "the system's clock")
}

// TestRotation: while a secret is rotated there are two signatures, in either
// order, and whoever knows one of the secrets verifies it.
func TestRotation(t *testing.T) {
	t.Parallel()
	for _, signers := range [][]string{{secret}, {old, secret}, {secret, old}} {
		h := sign(completed, now, signers...)
		require.Equal(t, len(signers), strings.Count(h.Get(header), "h1="))
		for _, known := range [][]string{{secret}, {old, secret}, {secret, old}} {
			_, err := open(t, paddlehook.Options{}, known...).Verify(t.Context(), h, []byte(completed))
			require.NoError(t, err, "%q %q", signers, known)
		}
		_, err := open(t, paddlehook.Options{}, "another").Verify(t.Context(), h, []byte(completed))
		require.Equal(t, webhook.NoMatch, reason(err))
	}
	_, err := open(t, paddlehook.Options{}, old).Verify(t.Context(), sign(completed, now), []byte(completed))
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
	v, err := paddlehook.New(find, paddlehook.Options{Now: func() time.Time { return now }})
	require.NoError(t, err)
	verify := func(tenant string) (webhook.Delivery, error) {
		h := sign(completed, now)
		h.Set("Tenant", tenant)
		return v.Verify(t.Context(), h, []byte(completed))
	}
	d, err := verify("a")
	require.NoError(t, err)
	require.Equal(t, "a", d.Events[0].Tenant)
	_, err = verify("down")
	require.ErrorIs(t, err, webhook.ErrUnavailable)
	require.ErrorIs(t, err, down)
	_, err = verify("none")
	require.Equal(t, webhook.NoMatch, reason(err))
}

// TestBitFlips: no bit of body or header can be changed, but for the case of the
// letters in a hex number.
func TestBitFlips(t *testing.T) {
	t.Parallel()
	v := open(t, paddlehook.Options{})
	genuine := sign(completed, now)
	for bit, body := range vectors.Flips([]byte(completed)) {
		_, err := v.Verify(t.Context(), genuine, body)
		require.Equal(t, webhook.NoMatch, reason(err), "bit %d of the body", bit)
	}
	value := genuine.Get(header)
	letters, spared := 0, 0
	for _, c := range strings.Split(value, "h1=")[1] {
		if c >= 'a' {
			letters++
		}
	}
	for bit, flipped := range vectors.Flips([]byte(value)) {
		_, err := v.Verify(t.Context(), http.Header{header: {string(flipped)}}, []byte(completed))
		if err == nil && strings.EqualFold(string(flipped), value) {
			spared++
			continue
		}
		require.ErrorIs(t, err, webhook.ErrRefused, "bit %d of the header: %s", bit, flipped)
	}
	require.Equal(t, letters, spared)
}
