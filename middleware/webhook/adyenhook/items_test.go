package adyenhook_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/adyenhook"
	"github.com/semel-go/semel/middleware/webhook/internal/vectors"
	"github.com/semel-go/semel/middleware/webhook/webhooktest"
)

func TestItem(t *testing.T) {
	t.Parallel()
	body := signed(authorised)
	e := event(t, open(t, adyenhook.Options{}), http.Header{}, body)
	require.True(t, e.Time.Equal(time.Date(2025, 1, 1, 10, 59, 58, 0, time.UTC)))
	e.Time = time.Time{}
	require.Equal(t, webhook.Event{
		Provider: "adyen", Tenant: "ShopECOM", ID: "PSP7:AUTHORISATION:true", IDSigned: true,
		Type: "AUTHORISATION", Resource: "PSP7", Body: []byte(body),
	}, e)
}

// TestBatch: each item is an event, in their order, whose body is an envelope of
// its own with the item as it was written, and which verifies like the whole.
func TestBatch(t *testing.T) {
	t.Parallel()
	v := open(t, adyenhook.Options{})
	d, err := v.Verify(t.Context(), http.Header{}, []byte(signed(authorised, captured)))
	require.NoError(t, err)
	require.Len(t, d.Events, 2)
	require.Equal(t, "PSP7:AUTHORISATION:true", d.Events[0].ID)
	require.Equal(t, "PSP8:CAPTURE:true", d.Events[1].ID)
	require.Equal(t, "PSP7", d.Events[1].Resource, "the payment that is captured")
	for i, item := range []string{authorised, captured} {
		require.Equal(t, signed(item), string(d.Events[i].Body))
		require.Equal(t, d.Events[i].ID, event(t, v, http.Header{}, string(d.Events[i].Body)).ID)
	}
}

// TestForgedSecond: one item that does not verify, wherever it stands, and
// nothing of the delivery is believed.
func TestForgedSecond(t *testing.T) {
	t.Parallel()
	v := open(t, adyenhook.Options{})
	whole := signed(authorised, captured)
	unsigned := strings.TrimSuffix(strings.TrimPrefix(envelope(captured), `{"live":"false","notificationItems":[`), `]}`)
	for name, tc := range map[string]struct {
		body string
		want webhook.Reason
	}{
		"another amount":     {strings.Replace(whole, `"pspReference":"PSP8"`, `"pspReference":"PSP9"`, 1), webhook.NoMatch},
		"the first's amount": {strings.Replace(whole, `"value":1999`, `"value":1`, 1), webhook.NoMatch},
		"unsigned, last":     {strings.Replace(signed(authorised), `]}`, `,`+unsigned+`]}`, 1), webhook.MissingHeader},
		"unsigned, first":    {strings.Replace(signed(authorised), `Items":[`, `Items":[`+unsigned+`,`, 1), webhook.MissingHeader},
		"empty, last":        {strings.Replace(signed(authorised), `]}`, `,{}]}`, 1), webhook.MissingHeader},
		"null, last":         {strings.Replace(signed(authorised), `]}`, `,null]}`, 1), webhook.MissingHeader},
	} {
		require.NotEqual(t, whole, tc.body, name)
		d, err := v.Verify(t.Context(), http.Header{}, []byte(tc.body))
		require.Equal(t, tc.want, reason(err), "%s: %v", name, err)
		require.Empty(t, d.Events, name)
	}
}

// TestOneReading: what two readers could read in two ways is refused, although
// each signature in it holds.
func TestOneReading(t *testing.T) {
	t.Parallel()
	v := open(t, adyenhook.Options{})
	body := signed(authorised)
	add := func(in, name string) string { return strings.Replace(body, in, in+name+",", 1) }
	const item = `"NotificationRequestItem":{`
	for _, forged := range []string{
		add(item, `"pspReference":"PSP0"`),
		add(item, `"PspReference":"PSP0"`),
		add(item, `"SUCCESS":"false"`),
		add(item, `"eventcode":"REFUND"`),
		add(`"amount":{`, `"Value":1`),
		add(`"amount":{`, `"value":1`),
		add(`{"additionalData":{`, `"hmacSignature":"AAAA"`),
		strings.Replace(body, `[{`, `[{"notificationrequestitem":{},`, 1),
		strings.Replace(body, `{"live"`, `{"NotificationItems":[],"live"`, 1),
		strings.Replace(body, `{"live"`, `{"notificationItems":[],"live"`, 1),
	} {
		require.NotEqual(t, body, forged)
		_, err := v.Verify(t.Context(), http.Header{}, []byte(forged))
		require.Equal(t, webhook.Malformed, reason(err), "%s: %v", forged, err)
	}
}

// TestColons: the signed text cannot be cut elsewhere.
func TestColons(t *testing.T) {
	t.Parallel()
	v := open(t, adyenhook.Options{})
	item := func(psp, original, account, reference, value, currency, code, success string) string {
		return fmt.Sprintf(`{"NotificationRequestItem":{"pspReference":%q,"originalReference":%q,"merchantAccountCode":%q,`+
			`"merchantReference":%q,"amount":{"value":%s,"currency":%q},"eventCode":%q,"success":%q}}`,
			psp, original, account, reference, value, currency, code, success)
	}
	event(t, v, http.Header{}, signed(item("p", "", "m", "a:b:c", "-5", "EUR", "CODE", "false")))
	for _, forged := range []string{
		item("p:", "m", "a", "b", "5", "EUR", "CODE", "true"),
		item("p", "o:", "m", "b", "5", "EUR", "CODE", "true"),
		item("p", "o", "m:a", "b", "5", "EUR", "CODE", "true"),
		item("p", "o", "m", "b", `"5:EUR"`, "EUR", "CODE", "true"),
		item("p", "o", "m", "b", `5.0`, "EUR", "CODE", "true"),
		item("p", "o", "m", "b", `1e3`, "EUR", "CODE", "true"),
		item("p", "o", "m", "b", "5", "E:UR", "CODE", "true"),
		item("p", "o", "m", "b", "5", "EUR", "CO:DE", "true"),
		item("p", "o", "m", "b", "5", "EUR", "CODE", "TRUE"),
		item("p", "o", "m", "b", "5", "EUR", "CODE", ""),
		strings.Replace(item("p", "o", "m", "b", "5", "EUR", "CODE", "true"), `"true"`, "true", 1),
		strings.Replace(item("7", "o", "m", "b", "5", "EUR", "CODE", "true"), `"7"`, "7", 1),
	} {
		_, err := v.Verify(t.Context(), http.Header{}, []byte(signed(forged)))
		require.Equal(t, webhook.Malformed, reason(err), "%s: %v", forged, err)
	}
	for _, nothing := range []string{item("", "o", "m", "b", "5", "EUR", "CODE", "true"), item("p", "o", "m", "b", "5", "EUR", "", "true")} {
		_, err := v.Verify(t.Context(), http.Header{}, []byte(signed(nothing)))
		require.ErrorIs(t, err, webhook.ErrNoEvent)
		require.Empty(t, reason(err))
	}
}

// TestAccounts: two merchant accounts have the same report, and two events.
func TestAccounts(t *testing.T) {
	t.Parallel()
	v := open(t, adyenhook.Options{})
	a := event(t, v, http.Header{}, signed(authorised))
	b := event(t, v, http.Header{}, signed(strings.Replace(authorised, "ShopECOM", "ShopPOS", 1)))
	require.Equal(t, a.ID, b.ID)
	require.NotEqual(t, a.Tenant, b.Tenant)
}

func TestEnvelope(t *testing.T) {
	t.Parallel()
	v := open(t, adyenhook.Options{})
	for _, body := range []string{
		"", " ", "{", "{}", "[]", "null", `"a"`, envelope(), `{"notificationItems":null}`, `{"notificationItems":{}}`,
		`{"notificationItems":"a"}`, envelope("7"), signed(authorised) + "x",
		string(webhooktest.Adyen(secret).Body([]byte(envelope(slices.Repeat([]string{authorised}, 65)...)))),
	} {
		d, err := v.Verify(t.Context(), http.Header{}, []byte(body))
		require.ErrorIs(t, err, webhook.ErrRefused, body)
		require.Empty(t, d.Events)
	}
	d, err := v.Verify(t.Context(), http.Header{}, []byte(signed(slices.Repeat([]string{authorised}, 64)...)))
	require.NoError(t, err)
	require.Len(t, d.Events, 64)
}

// TestBitFlips: no bit of what is signed can be changed. What is not signed can,
// and changes neither the id, the tenant nor the type.
func TestBitFlips(t *testing.T) {
	t.Parallel()
	v := open(t, adyenhook.Options{})
	body := signed(authorised)
	genuine := event(t, v, http.Header{}, body)
	spared := 0
	for bit, flipped := range vectors.Flips([]byte(body)) {
		d, err := v.Verify(t.Context(), http.Header{}, flipped)
		if err != nil {
			require.ErrorIs(t, err, webhook.ErrRefused, "bit %d: %s", bit, flipped)
			continue
		}
		spared++
		require.Len(t, d.Events, 1)
		e := d.Events[0]
		require.Equal(t, []string{genuine.ID, genuine.Tenant, genuine.Type, genuine.Resource}, []string{e.ID, e.Tenant, e.Type, e.Resource},
			"bit %d: %s", bit, flipped)
	}
	require.Positive(t, spared, "eventDate and others are not signed")
}

// FuzzItems: whatever the body, Verify returns, and it takes the genuine item and
// no other.
func FuzzItems(f *testing.F) {
	for _, body := range []string{
		signed(authorised), signed(authorised, authorised), envelope(authorised), "", "{", "[[[[",
		`{"notificationItems":[{"NotificationRequestItem":{"additionalData":{"hmacSignature":"`,
	} {
		f.Add(body)
	}
	v := open(f, adyenhook.Options{})
	f.Fuzz(func(t *testing.T, body string) {
		d, err := v.Verify(t.Context(), http.Header{}, []byte(body))
		if err != nil {
			require.Empty(t, d.Events)
			return
		}
		for _, e := range d.Events {
			require.Equal(t, "PSP7:AUTHORISATION:true", e.ID)
			require.Equal(t, "ShopECOM", e.Tenant)
		}
	})
}
