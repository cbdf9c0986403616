package hmachook_test

import (
	"context"
	"crypto"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"hash"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/hmachook"
	"github.com/semel-go/semel/middleware/webhook/internal/vectors"
	"github.com/semel-go/semel/middleware/webhook/webhooktest"
)

func TestEvent(t *testing.T) {
	t.Parallel()
	v := open(t, ledger(), secret)
	require.Equal(t, "ledger", v.Provider())
	d, err := v.Verify(t.Context(), sign(ledgerSigner(secret), body), []byte(body))
	require.NoError(t, err)
	require.Equal(t, webhook.Delivery{Events: []webhook.Event{{
		Provider: "ledger", ID: "ev-1", IDSigned: true, Type: "entry.booked", Body: []byte(body),
	}}}, d)
}

// TestIDs: where an id comes from, and whether it is signed.
func TestIDs(t *testing.T) {
	t.Parallel()
	verify := func(change func(*hmachook.Options), body string) (webhook.Event, error) {
		o := simple()
		change(&o)
		h := with(sign(simpleSigner(), body), "Delivery", "d-1")
		h.Set("Kind", "kind-1")
		d, err := open(t, o, secret).Verify(t.Context(), h, []byte(body))
		if err != nil {
			return webhook.Event{}, err
		}
		return d.Events[0], nil
	}
	header := func(o *hmachook.Options) { o.IDField, o.IDHeader, o.TypeHeader = "", "delivery", "kind" }
	field := func(o *hmachook.Options) { o.TypeField = "event.type" }

	e, err := verify(header, "not JSON")
	require.NoError(t, err)
	require.Equal(t, []string{"d-1", "kind-1"}, []string{e.ID, e.Type})
	require.False(t, e.IDSigned)

	e, err = verify(field, body)
	require.NoError(t, err)
	require.Equal(t, []string{"ev-1", "entry.booked"}, []string{e.ID, e.Type})
	require.True(t, e.IDSigned)

	e, err = verify(field, `{"event":{"id":9007199254740993}}`)
	require.NoError(t, err)
	require.Equal(t, "9007199254740993", e.ID)
	require.Empty(t, e.Type)

	for _, body := range []string{`{}`, `{"event":{"id":""}}`, `{"event":{"id":1.5}}`, `{"event":{"ID":"x"}}`, `{"event":"x"}`, `[]`} {
		_, err := verify(field, body)
		require.ErrorIs(t, err, webhook.ErrNoEvent, body)
	}
	for _, body := range []string{"", "{", `{"event":{"id":"a","id":"b"}}`} {
		_, err := verify(field, body)
		require.Equal(t, webhook.Malformed, reason(err), body)
	}
	_, err = verify(func(o *hmachook.Options) { o.IDField, o.IDHeader = "", "absent" }, body)
	require.Equal(t, webhook.MissingHeader, reason(err))
}

// TestForms: each hash in each encoding, padded or not.
func TestForms(t *testing.T) {
	t.Parallel()
	for h, newHash := range map[crypto.Hash]func() hash.Hash{crypto.SHA256: sha256.New, crypto.SHA384: sha512.New384, crypto.SHA512: sha512.New} {
		for encoding, encoders := range map[hmachook.Encoding][]func([]byte) string{
			hmachook.Hex:       {hex.EncodeToString, func(b []byte) string { return strings.ToUpper(hex.EncodeToString(b)) }},
			hmachook.Base64:    {base64.StdEncoding.EncodeToString, base64.RawStdEncoding.EncodeToString},
			hmachook.Base64URL: {base64.URLEncoding.EncodeToString, base64.RawURLEncoding.EncodeToString},
		} {
			for _, encode := range encoders {
				o := simple()
				o.Hash, o.Encoding = h, encoding
				s := webhooktest.HMAC(secret, webhooktest.HMACOptions{Header: "Signature", Hash: newHash, Encode: encode})
				_, err := open(t, o, secret).Verify(t.Context(), sign(s, body), []byte(body))
				require.NoError(t, err, "%v %v", h, encoding)
				_, err = open(t, o, old).Verify(t.Context(), sign(s, body), []byte(body))
				require.Equal(t, webhook.NoMatch, reason(err), "%v %v", h, encoding)

				o.Encoding = (encoding + 1) % 3
				_, err = open(t, o, secret).Verify(t.Context(), sign(s, body), []byte(body))
				require.True(t, err == nil || errors.Is(err, webhook.ErrRefused)) // base64 may look like base64url
				o.Encoding, o.Hash = encoding, crypto.SHA256
				if h != crypto.SHA256 {
					_, err = open(t, o, secret).Verify(t.Context(), sign(s, body), []byte(body))
					require.Equal(t, webhook.Malformed, reason(err), "%v", h)
				}
			}
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	v := open(t, ledger(), secret)
	genuine := sign(ledgerSigner(secret), body)
	mac := strings.TrimPrefix(genuine.Get("X-Ledger-Signature"), "sha256=")
	for _, name := range []string{"X-Ledger-Signature", "X-Ledger-Time", "X-Ledger-Id"} {
		for want, values := range map[webhook.Reason][]string{
			webhook.MissingHeader: {},
			webhook.Malformed:     {genuine.Get(name), genuine.Get(name)},
		} {
			h := genuine.Clone()
			h[name] = values
			_, err := v.Verify(t.Context(), h, []byte(body))
			require.Equal(t, want, reason(err), "%s %q", name, values)
		}
	}
	for want, cases := range map[webhook.Reason]map[string][]string{
		webhook.Malformed: {
			"X-Ledger-Signature": {
				mac, "sha1=" + mac, "SHA256=" + mac, "sha256=", "sha256=" + mac[:62], "sha256=" + mac + "00",
				"sha256=zz" + mac[2:], "sha256= " + mac, "sha256=" + mac + ",sha256=" + mac, strings.Repeat("a", 5000),
			},
			"X-Ledger-Time": {"x", "+1", "1.5", "-1"},
			"X-Ledger-Id":   {"a.b", ".", "ev-1."},
		},
		webhook.NoMatch: {
			"X-Ledger-Signature": {"sha256=" + strings.Repeat("0", 64)},
			"X-Ledger-Time":      {"0", "0" + genuine.Get("X-Ledger-Time")},
			"X-Ledger-Id":        {"ev-2", "ev-1 "},
		},
	} {
		for name, values := range cases {
			for _, value := range values {
				_, err := v.Verify(t.Context(), with(genuine, name, value), []byte(body))
				require.Equal(t, want, reason(err), "%s: %q", name, value)
				require.NotContains(t, err.Error(), mac)
			}
		}
	}
	_, err := v.Verify(t.Context(), genuine, []byte(body+"\n"))
	require.Equal(t, webhook.NoMatch, reason(err))
}

func TestAge(t *testing.T) {
	t.Parallel()
	milli := ledger()
	milli.TimestampUnit = hmachook.Milliseconds
	milli.Content, milli.IDHeader, milli.IDField = "{timestamp}{body}", "", "event.id"
	milliSigner := webhooktest.HMAC(secret, webhooktest.HMACOptions{
		Header: "X-Ledger-Signature", Prefix: "sha256=", TimestampHeader: "X-Ledger-Time",
		Timestamp: func(at time.Time) string { return strconv.FormatInt(at.UnixMilli(), 10) },
		Content:   func(at, _ string, body []byte) []byte { return []byte(at + string(body)) },
	})
	for age, want := range map[time.Duration]webhook.Reason{
		0:                            "",
		5 * time.Minute:              "",
		5*time.Minute + time.Second:  webhook.Expired,
		-5 * time.Minute:             "",
		-5*time.Minute - time.Second: webhook.Expired,
	} {
		_, err := open(t, ledger(), secret).Verify(t.Context(), sign(ledgerSigner(secret).At(now.Add(-age)), body), []byte(body))
		require.Equal(t, want, reason(err), age)
		require.Equal(t, want == "", err == nil, age)
		_, err = open(t, milli, secret).Verify(t.Context(), sign(milliSigner.At(now.Add(-age)), body), []byte(body))
		require.Equal(t, want, reason(err), age)
	}
	strict := ledger()
	strict.Tolerance = time.Second
	_, err := open(t, strict, secret).Verify(t.Context(), sign(ledgerSigner(secret).At(now.Add(-2*time.Second)), body), []byte(body))
	require.Equal(t, webhook.Expired, reason(err))

	v, err := hmachook.New("ledger", webhook.Secrets{secret}, ledger())
	require.NoError(t, err)
	_, err = v.Verify(t.Context(), sign(ledgerSigner(secret).At(time.Now()), body), []byte(body))
	require.NoError(t, err, "the system's clock")
}

func TestRotation(t *testing.T) {
	t.Parallel()
	for _, secrets := range [][]string{{secret, old}, {old, secret}} {
		_, err := open(t, ledger(), secrets...).Verify(t.Context(), sign(ledgerSigner(secret), body), []byte(body))
		require.NoError(t, err)
	}
	_, err := open(t, ledger(), old).Verify(t.Context(), sign(ledgerSigner(secret), body), []byte(body))
	require.Equal(t, webhook.NoMatch, reason(err))
}

func TestTenants(t *testing.T) {
	t.Parallel()
	v, err := hmachook.New("ledger", webhook.SecretFunc(func(_ context.Context, h http.Header, _ []byte) (webhook.Secrets, string, error) {
		if h.Get("Tenant") == "" {
			return nil, "", errors.New("down")
		}
		return webhook.Secrets{secret}, h.Get("Tenant"), nil
	}), simple())
	require.NoError(t, err)
	genuine := sign(simpleSigner(), body)
	_, err = v.Verify(t.Context(), genuine, []byte(body))
	require.ErrorIs(t, err, webhook.ErrUnavailable)
	d, err := v.Verify(t.Context(), with(genuine, "Tenant", "a"), []byte(body))
	require.NoError(t, err)
	require.Equal(t, "a", d.Events[0].Tenant)
}

// TestCut: what is signed for one id and body is no other id and body, however
// the literal between them overlaps itself.
func TestCut(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ content, id, body, otherID, otherBody string }{
		{"{id}.{body}", "a", "b.c", "a.b", "c"},
		{"{id}--{body}", "a-", "b", "a", "-b"},
		{"{id}aba{body}", "xab", "c", "x", "bac"},
		{"{body}.{id}", "b", "c.a", "a.b", "c"},
		{"{body}--{id}", "-b", "a", "b", "a-"},
		{"v1:{id}:{body}", "a", "b:c", "a:b", "c"},
	} {
		o := hmachook.Options{Header: "Signature", Content: tc.content, IDHeader: "Delivery"}
		s := webhooktest.HMAC(secret, webhooktest.HMACOptions{
			Header: "Signature", IDHeader: "Delivery",
			Content: func(_, id string, body []byte) []byte {
				return []byte(strings.NewReplacer("{id}", id, "{body}", string(body)).Replace(tc.content))
			},
		})
		one, other := sign(s.ID(tc.id), tc.body), sign(s.ID(tc.otherID), tc.otherBody)
		require.Equal(t, one.Get("Signature"), other.Get("Signature"), "the signed text is the same")
		v, taken := open(t, o, secret), 0
		for h, body := range map[*http.Header]string{&one: tc.body, &other: tc.otherBody} {
			if _, err := v.Verify(t.Context(), *h, []byte(body)); err == nil {
				taken++
			} else {
				require.Equal(t, webhook.Malformed, reason(err))
			}
		}
		require.Equal(t, 1, taken, tc.content)
	}
}

// TestBitFlips: what Content names cannot be changed, but for the case of the
// letters in a hex number; what it does not name can.
func TestBitFlips(t *testing.T) {
	t.Parallel()
	v, genuine := open(t, ledger(), secret), sign(ledgerSigner(secret), body)
	for bit, body := range vectors.Flips([]byte(body)) {
		_, err := v.Verify(t.Context(), genuine, body)
		require.Equal(t, webhook.NoMatch, reason(err), "bit %d of the body", bit)
	}
	for _, name := range []string{"X-Ledger-Signature", "X-Ledger-Time", "X-Ledger-Id"} {
		for bit, value := range vectors.Flips([]byte(genuine.Get(name))) {
			_, err := v.Verify(t.Context(), with(genuine, name, string(value)), []byte(body))
			if err == nil && name == "X-Ledger-Signature" && strings.HasPrefix(string(value), "sha256=") {
				require.True(t, strings.EqualFold(string(value), genuine.Get(name)))
				continue
			}
			require.ErrorIs(t, err, webhook.ErrRefused, "bit %d of %s", bit, name)
		}
	}

	// Base64 has one text for one signature.
	o := simple()
	o.Encoding = hmachook.Base64
	v = open(t, o, secret)
	genuine = sign(webhooktest.HMAC(secret, webhooktest.HMACOptions{Header: "Signature", Encode: base64.StdEncoding.EncodeToString}), body)
	for bit, value := range vectors.Flips([]byte(genuine.Get("Signature"))) {
		_, err := v.Verify(t.Context(), with(genuine, "Signature", string(value)), []byte(body))
		require.ErrorIs(t, err, webhook.ErrRefused, "bit %d", bit)
	}

	// An id that is not signed is whatever the sender of the copy says.
	v = open(t, hmachook.Options{Header: "Signature", IDHeader: "Delivery"}, secret)
	genuine = with(sign(simpleSigner(), body), "Delivery", "d-1")
	for _, value := range vectors.Flips([]byte("d-1")) {
		d, err := v.Verify(t.Context(), with(genuine, "Delivery", string(value)), []byte(body))
		require.NoError(t, err)
		require.Equal(t, string(value), d.Events[0].ID)
		require.False(t, d.Events[0].IDSigned)
	}
}
