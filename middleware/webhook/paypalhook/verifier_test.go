package paypalhook_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/paypalhook"
)

func TestConstructor(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"":                      "it is empty",
		"1JE4291016473214C\n":   `"1JE4291016473214C\n"`,
		"a|b":                   `"a|b"`,
		strings.Repeat("A", 65): "AAAA",
		"WEBHOOK_ID":            "the simulator's",
	} {
		_, err := paypalhook.New(id, paypalhook.Options{})
		require.ErrorIs(t, err, paypalhook.ErrWebhookID, id)
		require.ErrorContains(t, err, want)
	}
	_, err := paypalhook.New("", paypalhook.Options{Env: 7, MaxAge: -1})
	require.ErrorIs(t, err, paypalhook.ErrWebhookID)
	require.ErrorContains(t, err, "field Env: 7")
	require.ErrorContains(t, err, "field MaxAge: -1ns")
	_, err = paypalhook.New("1JE", paypalhook.Options{MaxAge: 91 * 24 * time.Hour})
	require.ErrorContains(t, err, "field MaxAge")

	v, err := paypalhook.New("1JE4291016473214C", paypalhook.Options{})
	require.NoError(t, err)
	require.Equal(t, "paypal", v.Provider())
	require.Equal(t, webhook.Policy{Retention: 30 * 24 * time.Hour, MaxBody: 1 << 20, Binds: true}, v.Policy())
	_, err = paypalhook.New("WEBHOOK_ID", paypalhook.Options{Env: paypalhook.Sandbox})
	require.NoError(t, err)
}

func TestEvent(t *testing.T) {
	t.Parallel()
	p, v := newPayPal(t)
	d, err := v.Verify(t.Context(), sign(p, body), []byte(body))
	require.NoError(t, err)
	require.Equal(t, []webhook.Event{{
		Provider: "paypal", ID: "WH-1X-2Y", IDSigned: true, Type: "PAYMENT.CAPTURE.COMPLETED", Resource: "42A",
		Time: time.Date(2025, 1, 1, 11, 59, 58, 25e7, time.UTC), Body: []byte(body),
	}}, d.Events)
	require.Len(t, d.Bindings, 1)
	require.Equal(t, sha256.Sum256([]byte(body)), d.Bindings[0].Digest)
	require.Greater(t, d.Bindings[0].For, 4*24*time.Hour)

	read := func(text string) (webhook.Event, error) {
		d, err := v.Verify(t.Context(), sign(p, text), []byte(text))
		if err != nil {
			return webhook.Event{}, err
		}
		return d.Events[0], nil
	}
	e, err := read(`{"resource":{"invoice":{"id":"INV2-1"}},"id":"8PT597110X687430LKGECATA"}`)
	require.NoError(t, err)
	require.Equal(t, "8PT597110X687430LKGECATA", e.ID)
	require.Equal(t, "INV2-1", e.Resource)
	require.Empty(t, e.Type)
	require.Zero(t, e.Time)
	for _, text := range []string{`{}`, `[]`, `"id"`, `null`, `{"id":""}`, `{"id":7}`, `{"id":null}`, `{"ID":"WH-1"}`, `{"Id":"WH-1"}`, `{"resource":{"id":"WH-1"}}`} {
		_, err := read(text)
		require.ErrorIs(t, err, webhook.ErrNoEvent, text)
	}
	for _, text := range []string{``, `{`, `{"id":"a"} {}`, `id=a`, `{"id":"a","id":"a"}`, `{"id":"a","\u0069d":"b"}`, `{"id":"a","resource":{"id":"1","id":"2"}}`} {
		_, err := read(text)
		require.Equal(t, webhook.Malformed, reason(err), text)
	}
}

// TestBinding: what is bound is what is signed, and for as long as it is
// believed.
func TestBinding(t *testing.T) {
	t.Parallel()
	p, v := newPayPal(t)
	binding := func(h http.Header) webhook.Binding {
		d, err := v.Verify(t.Context(), h, []byte(body))
		require.NoError(t, err)
		require.Len(t, d.Bindings, 1)
		return d.Bindings[0]
	}
	p = p.ID("b2384410-f8d2")
	first := binding(sign(p, body))
	require.Equal(t, first, binding(sign(p, body)))
	anew := binding(sign(p.At(now.Add(-time.Hour)), body))
	require.NotEqual(t, first.ID, anew.ID, "the same transmission, signed anew")
	require.Equal(t, first.For-time.Hour, anew.For)
	require.Equal(t, first.Digest, anew.Digest)
	require.NotEqual(t, first.ID, binding(sign(p.ID("b2384410-f8d3"), body)).ID)

	oldest := binding(sign(p.At(now.Add(-4*24*time.Hour)), body))
	require.Equal(t, time.Hour, oldest.For, "for a clock that is behind")
}

func TestRefused(t *testing.T) {
	t.Parallel()
	p, v := newPayPal(t)
	genuine := sign(p, body)
	for _, name := range []string{"Paypal-Transmission-Id", "Paypal-Transmission-Time", "Paypal-Transmission-Sig", "Paypal-Cert-Url", "Paypal-Auth-Algo"} {
		for _, tc := range []struct {
			want   webhook.Reason
			values []string
		}{
			{webhook.MissingHeader, nil},
			{webhook.MissingHeader, []string{""}},
			{webhook.Malformed, []string{genuine.Get(name), genuine.Get(name)}},
			{webhook.Malformed, []string{strings.Repeat("A", 5000)}},
		} {
			h := genuine.Clone()
			h[name] = tc.values
			_, err := v.Verify(t.Context(), h, []byte(body))
			require.Equal(t, tc.want, reason(err), "%s %.40q", name, tc.values)
		}
	}
	sig := genuine.Get("Paypal-Transmission-Sig")
	for name, values := range map[string][]string{
		"Paypal-Transmission-Time": {"now", "1735732800", "2025-01-01", "2025-01-01T12:00:00", "2025-01-01T12:00:00Z ", "2025-13-01T12:00:00Z"},
		"Paypal-Transmission-Sig": {
			"***", sig[:340], sig + "AAAA", strings.TrimRight(sig, "="), "\n" + sig, sig[:8] + "\r\n" + sig[8:],
			strings.Repeat("A", 340), strings.Repeat("A", 1368), sig[:len(sig)-3] + "/==",
		},
		"Paypal-Auth-Algo": {"SHA1withRSA", "sha256withrsa", "SHA256withRSA ", "SHA512withRSA", "none"},
	} {
		for _, value := range values {
			_, err := v.Verify(t.Context(), with(genuine, name, value), []byte(body))
			require.Equal(t, webhook.Malformed, reason(err), "%s %q", name, value)
			require.ErrorContains(t, err, name)
			require.NotContains(t, err.Error(), sig[10:100])
		}
	}
	for name, h := range map[string]http.Header{
		"another webhook":      sign(p.For("9JE4291016473214C"), body),
		"another body":         sign(p, body+" "),
		"another transmission": with(genuine, "Paypal-Transmission-Id", "x"),
		"another time":         with(genuine, "Paypal-Transmission-Time", "2025-01-01T12:00:00.000Z"),
		"another zone":         with(genuine, "Paypal-Transmission-Time", "2025-01-01T13:00:00+01:00"),
		"another signature":    with(genuine, "Paypal-Transmission-Sig", strings.Repeat("A", 342)+"=="),
		"wrong name":           sign(p.WrongName(), body),
		"wrong root":           sign(p.WrongRoot(), body),
		"expired":              sign(p.Expired(), body),
		"no such certificate":  with(genuine, "Paypal-Cert-Url", certs+"CERT-1"),
	} {
		_, err := v.Verify(t.Context(), h, []byte(body))
		require.Equal(t, webhook.NoMatch, reason(err), name)
	}
}

// TestEnvironments: each refuses the other's deliveries, by the URL.
func TestEnvironments(t *testing.T) {
	t.Parallel()
	p, live := newPayPal(t)
	sandbox := open(t, p.Sandbox(), nil)
	_, err := sandbox.Verify(t.Context(), sign(p.Sandbox(), body), []byte(body))
	require.NoError(t, err)
	_, err = live.Verify(t.Context(), sign(p, body), []byte(body))
	require.NoError(t, err)
	_, err = live.Verify(t.Context(), sign(p.Sandbox(), body), []byte(body))
	require.Equal(t, webhook.Malformed, reason(err))
	_, err = sandbox.Verify(t.Context(), sign(p, body), []byte(body))
	require.Equal(t, webhook.Malformed, reason(err))
	require.Equal(t, 2, p.Fetches())

	simulator := p.Sandbox().For("WEBHOOK_ID")
	_, err = open(t, simulator, nil).Verify(t.Context(), sign(simulator, body), []byte(body))
	require.NoError(t, err)
}

func TestAge(t *testing.T) {
	t.Parallel()
	p, v := newPayPal(t)
	const day = 24 * time.Hour
	for age, want := range map[time.Duration]webhook.Reason{
		0:                            "",
		4 * day:                      "",
		4*day + time.Second:          webhook.Expired,
		-5 * time.Minute:             "",
		-5*time.Minute - time.Second: webhook.Expired,
		20 * 365 * day:               webhook.Expired,
		-200 * 365 * day:             webhook.Expired,
	} {
		h := sign(p.At(now.Add(-age)), body)
		_, err := v.Verify(t.Context(), h, []byte(body))
		require.Equal(t, want, reason(err), age)
		require.Equal(t, want == "", err == nil, age)
		_, err = v.Verify(t.Context(), h, []byte("{}"))
		require.Equal(t, webhook.NoMatch, reason(err), "only what is signed has an age")
	}
	week := open(t, p, func(o *paypalhook.Options) { o.MaxAge = 7 * day })
	_, err := week.Verify(t.Context(), sign(p.At(now.Add(-7*day)), body), []byte(body))
	require.NoError(t, err)

	system := open(t, p, func(o *paypalhook.Options) { o.Now = nil })
	_, err = system.Verify(t.Context(), sign(p.At(time.Time{}), body), []byte(body))
	require.NoError(t, err, "the system's clock")
}

// TestCertificate: a certificate that a root vouches for is not PayPal's yet.
func TestCertificate(t *testing.T) {
	t.Parallel()
	p := newCA(t)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	short, err := rsa.GenerateKey(rand.Reader, 1024)
	require.NoError(t, err)
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	_, wildcard := p.issue(t, x509.Certificate{DNSNames: []string{"*.paypal.com"}}, key.Public())
	_, common := p.issue(t, x509.Certificate{Subject: pkix.Name{CommonName: liveSigner}}, key.Public())
	_, later := p.issue(t, x509.Certificate{DNSNames: []string{liveSigner}, NotBefore: now.Add(time.Second), NotAfter: now.AddDate(1, 0, 0)}, key.Public())
	_, ended := p.issue(t, x509.Certificate{DNSNames: []string{liveSigner}, NotBefore: now.AddDate(-1, 0, 0), NotAfter: now.Add(-time.Second)}, key.Public())
	good := string(p.signer(t, key.Public()))
	for name, tc := range map[string]struct{ file, want string }{
		"good":          {good, ""},
		"good, and key": {"-----BEGIN X-----\n-----END X-----\n" + good, ""},
		"empty":         {"", "not PEM"},
		"page":          {"<html>-----BEGIN", "not PEM"},
		"other PEM":     {"-----BEGIN X-----\n-----END X-----\n", "not PEM"},
		"cut off":       {good[:len(good)-40], "not PEM"},
		"no DER":        {"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "malformed"},
		"other first":   {string(wildcard) + good, "not made out to"},
		"wildcard":      {string(wildcard), "not made out to"},
		"common name":   {string(common), "not made out to"},
		"later":         {string(later), "not yet valid"},
		"ended":         {string(ended), "expired"},
		"short":         {string(p.signer(t, short.Public())), "at least 2048 bits"},
		"curve":         {string(p.signer(t, curve.Public())), "not RSA"},
		"many":          {strings.Repeat(good, 17), "more than 16"},
		"large":         {good + strings.Repeat("\n", 64<<10), "larger than"},
	} {
		v, err := paypalhook.New("1JE", paypalhook.Options{Roots: p.pool, Now: clock, Fetch: always(tc.file, nil)})
		require.NoError(t, err)
		h := http.Header{
			"Paypal-Transmission-Id": {"x"}, "Paypal-Transmission-Time": {now.Format(time.RFC3339)},
			"Paypal-Transmission-Sig": {strings.Repeat("A", 342) + "=="}, "Paypal-Cert-Url": {certs + "CERT-1"}, "Paypal-Auth-Algo": {"SHA256withRSA"},
		}
		_, err = v.Verify(t.Context(), h, []byte(body))
		require.Equal(t, webhook.NoMatch, reason(err), name)
		if keys, _, _ := v.Held(); tc.want == "" {
			require.NotContains(t, err.Error(), "certificate", name)
			require.Equal(t, 1, keys, name)
		} else {
			require.ErrorContains(t, err, "the certificate: ", name)
			require.ErrorContains(t, err, tc.want, name)
			require.Zero(t, keys, name)
		}
	}
}
