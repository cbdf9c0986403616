package adyenhook_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/adyenhook"
	"github.com/semel-go/semel/middleware/webhook/internal/vectors"
	"github.com/semel-go/semel/middleware/webhook/webhooktest"
)

const header = "Hmacsignature"

var whole = adyenhook.Options{Form: adyenhook.Header}

// TestHeader: by default a body is known by its digest; IDFields tell what to go
// by instead, and two lists of values never meet.
func TestHeader(t *testing.T) {
	t.Parallel()
	e := event(t, open(t, whole), inHeader(created), created)
	sum := sha256.Sum256([]byte(created))
	require.Equal(t, webhook.Event{
		Provider: "adyen", ID: hex.EncodeToString(sum[:]), IDSigned: true, Type: "balancePlatform.transfer.created",
		Resource: "T7", Time: time.Date(2025, 1, 1, 12, 0, 0, 0, time.UTC), Body: []byte(created),
	}, e)

	id := func(body string, fields ...string) string {
		o := whole
		o.IDFields = fields
		return event(t, open(t, o), inHeader(body), body).ID
	}
	require.Equal(t, "T7", id(created, "data.id"))
	require.Equal(t, "2:T7:1:1", id(created, "data.id", "data.sequenceNumber"))
	require.NotEqual(t, id(`{"a":"1:b","c":"d"}`, "a", "c"), id(`{"a":"1","c":"b:1:d"}`, "a", "c"))

	o := whole
	o.IDFields = []string{"data.id", "data.sequenceNumber"}
	for _, body := range []string{`{}`, `{"data":{"id":"T7"}}`, `{"data":{"id":"","sequenceNumber":1}}`, `{"data":{"id":"T7","sequenceNumber":1.5}}`} {
		_, err := open(t, o).Verify(t.Context(), inHeader(body), []byte(body))
		require.ErrorIs(t, err, webhook.ErrNoEvent, body)
		require.Empty(t, reason(err), body)
	}
	for _, body := range []string{`{"data":{"id":"a","id":"b"}}`, `{"data":{},"data":{}}`} {
		_, err := open(t, whole).Verify(t.Context(), inHeader(body), []byte(body))
		require.Equal(t, webhook.Malformed, reason(err), body)
	}
}

func TestHeaderRefused(t *testing.T) {
	t.Parallel()
	v := open(t, whole)
	genuine := inHeader(created).Get(header)
	for value, want := range map[string]webhook.Reason{
		"":                        webhook.MissingHeader,
		"garbage":                 webhook.Malformed,
		genuine + ",":             webhook.Malformed,
		genuine + genuine:         webhook.Malformed,
		strings.Repeat("a", 5000): webhook.Malformed,
		strings.Repeat("A", 43):   webhook.NoMatch,
	} {
		_, err := v.Verify(t.Context(), http.Header{header: {value}}, []byte(created))
		require.Equal(t, want, reason(err), value)
		require.NotContains(t, err.Error(), genuine)
		require.NotContains(t, err.Error(), secret)
	}
	_, err := v.Verify(t.Context(), http.Header{}, []byte(created))
	require.Equal(t, webhook.MissingHeader, reason(err))
	_, err = v.Verify(t.Context(), http.Header{header: {genuine, genuine}}, []byte(created))
	require.Equal(t, webhook.Malformed, reason(err), "the same header twice")
	for bit, body := range vectors.Flips([]byte(created)) {
		_, err := v.Verify(t.Context(), inHeader(created), body)
		require.ErrorIs(t, err, webhook.ErrRefused, "bit %d of the body", bit)
	}
	for bit, value := range vectors.Flips([]byte(genuine)) {
		_, err := v.Verify(t.Context(), http.Header{header: {string(value)}}, []byte(created))
		require.ErrorIs(t, err, webhook.ErrRefused, "bit %d of the header", bit)
	}
}

// TestForms: an endpoint takes one form, even where both have one key.
func TestForms(t *testing.T) {
	t.Parallel()
	standard := signed(authorised)
	_, err := open(t, whole).Verify(t.Context(), http.Header{}, []byte(standard))
	require.Equal(t, webhook.MissingHeader, reason(err))
	_, err = open(t, adyenhook.Options{}).Verify(t.Context(), inHeader(created), []byte(created))
	require.Equal(t, webhook.Malformed, reason(err))
	unsigned := envelope(authorised)
	_, err = open(t, adyenhook.Options{}).Verify(t.Context(), inHeader(unsigned), []byte(unsigned))
	require.Equal(t, webhook.MissingHeader, reason(err))

	fields := "PSP7::ShopECOM:INV:7:1999:EUR:AUTHORISATION:true"
	_, err = open(t, whole).Verify(t.Context(), inHeader(fields), []byte(fields))
	require.Equal(t, webhook.Malformed, reason(err), "what an item signs is no body")
}

// FuzzHeader: whatever header and body are, Verify returns, and takes the genuine
// pair alone.
func FuzzHeader(f *testing.F) {
	genuine := inHeader(created).Get(header)
	for _, value := range []string{genuine, "", "=", genuine[:43], strings.Repeat("A", 44)} {
		f.Add(value, created)
	}
	v := open(f, whole)
	f.Fuzz(func(t *testing.T, value, body string) {
		if _, err := v.Verify(t.Context(), http.Header{header: {value}}, []byte(body)); err == nil {
			require.Equal(t, created, body)
			require.Equal(t, genuine[:43], strings.TrimSuffix(value, "="))
		}
	})
}

// FuzzBody: whatever a signed body holds, Verify returns, and what it takes has
// an id.
func FuzzBody(f *testing.F) {
	for _, body := range []string{created, "", "{", `{"type":"`, `{"data":{"id":1e9}}`, "[[[["} {
		f.Add(body)
	}
	v := open(f, whole)
	f.Fuzz(func(t *testing.T, body string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
		require.NoError(t, err)
		webhooktest.AdyenHeader(secret).Sign(r, []byte(body))
		d, err := v.Verify(t.Context(), r.Header, []byte(body))
		if err == nil {
			require.NotEmpty(t, d.Events[0].ID)
		}
	})
}
