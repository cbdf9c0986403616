package paypalhook_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/paypalhook"
	"github.com/semel-go/semel/middleware/webhook/webhooktest"
)

// rereading returns a Verifier whose Reread answers with text and err.
func rereading(t *testing.T, p *webhooktest.PayPal, text string, err error) *paypalhook.Verifier {
	t.Helper()
	return open(t, p, func(o *paypalhook.Options) {
		o.Reread = func(_ context.Context, e webhook.Event) ([]byte, error) {
			require.Equal(t, "WH-1", e.ID)
			return []byte(text), err
		}
	})
}

// TestReread: what is delivered has to be what PayPal's API has.
func TestReread(t *testing.T) {
	t.Parallel()
	p, _ := newPayPal(t)
	const delivered = `{"id":"WH-1","event_type":"A","create_time":"2025-01-01T00:00:00Z","resource":{"id":"1","n":1.0,"l":[1,{"a":null},true],"e":{}}}`
	same := func(old, changed string) string {
		require.Contains(t, delivered, old)
		return strings.Replace(delivered, old, changed, 1)
	}
	for name, tc := range map[string]struct {
		again string
		want  webhook.Reason
	}{
		"itself":            {delivered, ""},
		"another order":     {`{ "resource": {"e":{},"l":[1,{"a":null},true],"n":1.0,"id":"\u0031"}, "create_time":"2025-01-01T00:00:00Z", "event_type":"A","id":"WH-1"}`, ""},
		"more":              {same(`{"id":"WH-1"`, `{"status":"PENDING","transmissions":[],"id":"WH-1"`), ""},
		"another id":        {same("WH-1", "WH-2"), webhook.Forged},
		"another type":      {same(`"A"`, `"B"`), webhook.Forged},
		"no type":           {same(`"event_type":"A",`, ""), webhook.Forged},
		"another resource":  {same(`"id":"1"`, `"id":"2"`), webhook.Forged},
		"less in it":        {same(`"id":"1",`, ""), webhook.Forged},
		"more in it":        {same(`"id":"1",`, `"id":"1","more":1,`), webhook.Forged},
		"renamed":           {same(`"e":{}`, `"E":{}`), webhook.Forged},
		"number":            {same("1.0", "1"), webhook.Forged},
		"list":              {same("[1,", "[2,"), webhook.Forged},
		"shorter list":      {same("[1,", "["), webhook.Forged},
		"longer list":       {same("true]", "true,2]"), webhook.Forged},
		"null":              {same("null", "false"), webhook.Forged},
		"missing":           {same(`"a":null`, ""), webhook.Forged},
		"text for a number": {same("1.0", `"1.0"`), webhook.Forged},
		"list for a number": {same("1.0", "[]"), webhook.Forged},
		"object for a list": {same(`[1,{"a":null},true]`, "{}"), webhook.Forged},
	} {
		d, err := rereading(t, p, tc.again, nil).Verify(t.Context(), sign(p, delivered), []byte(delivered))
		require.Equal(t, tc.want, reason(err), name)
		if tc.want == "" {
			require.NoError(t, err, name)
			require.Equal(t, delivered, string(d.Events[0].Body), name)
		}
	}
	for name, less := range map[string]string{
		"no resource": `{"id":"WH-1","event_type":"A","create_time":"2025-01-01T00:00:00Z"}`,
		"id alone":    `{"id":"WH-1"}`,
	} {
		_, err := rereading(t, p, delivered, nil).Verify(t.Context(), sign(p, less), []byte(less))
		require.Equal(t, webhook.Forged, reason(err), name)
	}
	for _, twice := range []string{
		`{"id":"WH-1","x":1,"x":1}`,
		`{"id":"WH-1","resource":{"l":[{"a":1,"\u0061":1}]}}`,
	} {
		_, err := rereading(t, p, twice, nil).Verify(t.Context(), sign(p, twice), []byte(twice))
		require.Equal(t, webhook.Malformed, reason(err), twice)
	}
}

// TestRereadUnavailable: what cannot be compared just now comes again.
func TestRereadUnavailable(t *testing.T) {
	t.Parallel()
	p, _ := newPayPal(t)
	const delivered = `{"id":"WH-1"}`
	notFound := errors.New("404")
	_, err := rereading(t, p, delivered, notFound).Verify(t.Context(), sign(p, delivered), []byte(delivered))
	require.ErrorIs(t, err, webhook.ErrUnavailable)
	require.ErrorIs(t, err, notFound)
	for _, text := range []string{"", "<html>", `[]`, `null`, delivered + delivered, `{"id":"WH-1","a":1,"a":2}`, strings.Repeat("[", 20_000)} {
		_, err := rereading(t, p, text, nil).Verify(t.Context(), sign(p, delivered), []byte(delivered))
		require.ErrorIs(t, err, webhook.ErrUnavailable, "%.20s", text)
	}
}

// TestRereadAsks: only about what could be PayPal's, and only of what verified.
func TestRereadAsks(t *testing.T) {
	t.Parallel()
	p, _ := newPayPal(t)
	var asked []string
	v := open(t, p, func(o *paypalhook.Options) {
		o.Reread = func(ctx context.Context, e webhook.Event) ([]byte, error) {
			require.Equal(t, "here", ctx.Value(key{}))
			asked = append(asked, e.ID)
			return e.Body, nil
		}
	})
	ctx := context.WithValue(t.Context(), key{}, "here")
	for _, id := range []string{"../x", "a/b", "a?b", "a#b", "a%2fb", "a b", ".", "ä"} {
		text := `{"id":"` + id + `"}`
		_, err := v.Verify(ctx, sign(p, text), []byte(text))
		require.Equal(t, webhook.Malformed, reason(err), id)
	}
	_, err := v.Verify(ctx, sign(p, body), []byte(body+" "))
	require.Equal(t, webhook.NoMatch, reason(err))
	require.Empty(t, asked)
	for range 2 {
		_, err = v.Verify(ctx, sign(p, body), []byte(body))
		require.NoError(t, err)
	}
	require.Equal(t, []string{"WH-1X-2Y", "WH-1X-2Y"}, asked)
}

type key struct{}

// known returns a Reread of an API that has these events.
func known(events map[string]string) func(context.Context, webhook.Event) ([]byte, error) {
	return func(_ context.Context, e webhook.Event) ([]byte, error) {
		if text, ok := events[e.ID]; ok {
			return []byte(text), nil
		}
		return nil, errors.New("404")
	}
}

// echo is the Reread of an API that has whatever is delivered.
func echo(_ context.Context, e webhook.Event) ([]byte, error) { return e.Body, nil }
