package main_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	semel "github.com/semel-go/semel/cmd/semel"
	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/middleware"
	"github.com/semel-go/semel/middleware/webhook"
)

// acme is a provider whose deliveries are the ids of their events.
type acme struct{}

func (acme) Provider() string { return "acme" }

func (acme) Verify(_ context.Context, header http.Header, body []byte) (webhook.Delivery, error) {
	return webhook.Delivery{Events: []webhook.Event{
		{ID: string(body), Tenant: header.Get("Tenant"), IDSigned: true, Body: body},
	}}, nil
}

// post sends a request to a handler behind mw.
func post(t *testing.T, mw func(http.Handler) http.Handler, header http.Header, body string, h http.HandlerFunc) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
	r.Header = header
	w := httptest.NewRecorder()
	mw(h).ServeHTTP(w, r)
	require.Less(t, w.Code, 300, w.Body.String())
}

// received makes the record of a webhook whose handler answered with header and
// body.
func (e env) received(tenant, id string) {
	e.t.Helper()
	post(e.t, webhook.Once(e.guard, "billing", acme{}, webhook.Options{}), http.Header{"Tenant": {tenant}}, id, accepted)
}

// posted makes the record of a request with an Idempotency-Key.
func (e env) posted(scope func(*http.Request) (string, error), id string) {
	e.t.Helper()
	mw := middleware.Idempotency(e.guard, scope, middleware.IdempotencyOptions{})
	post(e.t, mw, http.Header{"Idempotency-Key": {id}}, "{}", accepted)
}

func accepted(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Evil", "\x1b[2J")
	w.WriteHeader(http.StatusAccepted)
	_, _ = w.Write([]byte("{\"ok\":true}\n"))
}

// TestKeysOfTheMiddleware: every key that the library makes can be typed as the
// documentation says, and is printed in the same parts.
func TestKeysOfTheMiddleware(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		shop := func(*http.Request) (string, error) { return "shop-7", nil }
		e.received("", "evt_1")
		e.received("acct_1", "evt_1")
		e.posted(shop, "order-1")
		e.posted(middleware.SharedScope(), "order-2")
		list := e.ok("ls")
		for _, key := range []struct {
			args, name string
			parts      []any
		}{
			{`-part webhook -part acme -part billing -part '' -id evt_1`, `"webhook" "acme" "billing" "" / "evt_1"`, []any{"webhook", "acme", "billing", ""}},
			{`-part webhook -part acme -part billing -part acct_1 -id evt_1`, `"webhook" "acme" "billing" "acct_1" / "evt_1"`, []any{"webhook", "acme", "billing", "acct_1"}},
			{`-part http -part shop-7 -id order-1`, `"http" "shop-7" / "order-1"`, []any{"http", "shop-7"}},
			{`-part http -part '"\x00shared"' -id order-2`, `"http" "\x00shared" / "order-2"`, []any{"http", "\x00shared"}},
		} {
			args := strings.Fields(key.args)
			for i := range args {
				args[i] = strings.Trim(args[i], "'") // as a shell does
			}
			require.Contains(t, e.ok(append([]string{"show"}, args...)...), "\nname          "+key.name+"\n")
			require.Contains(t, list, "  "+key.name+"\n")
			object := e.object(append([]string{"show"}, args...)...)
			require.Equal(t, key.parts, object["parts"])
			require.Equal(t, args[len(args)-1], object["id"])
			require.NotEmpty(t, object["scope"])
		}
		text := e.ok("stats")
		require.Contains(t, text, `  "webhook" "acme" "billing" ""`+"\n")
		require.Contains(t, text, `  "http" "\x00shared"`+"\n")
		for _, scope := range e.object("stats")["top_scopes"].([]any) {
			require.NotEmpty(t, scope.(map[string]any)["parts"])
			require.NotEmpty(t, scope.(map[string]any)["scope"])
		}
	})
}

// TestPlainScope: a scope that nobody joined is printed as it is.
func TestPlainScope(t *testing.T) {
	t.Parallel()
	e := onMiniredis(t)
	key := e.complete(invoice("in_1"))
	require.NotContains(t, e.object("show", key), "parts")
	require.Equal(t, "invoice", e.object("show", key)["scope"])
	require.Contains(t, e.ok("stats"), `  "invoice"`+"\n")
}

func TestPartsOf(t *testing.T) {
	t.Parallel()
	for _, parts := range [][]string{
		{""}, {"a"}, {"", ""}, {"http", "\x00shared"}, {"webhook", "acme", "", "ä"}, {strings.Repeat("x", 300), "y"}, {"\xff", "\x01"},
	} {
		require.Equal(t, parts, semel.PartsOf(idempotency.Scope(parts...)), "%q", parts)
	}
	for _, scope := range []string{
		"", "invoice", "order id", "\x05http", "\x04http\x02x", "\xff", "\x81\x00x", "\x80",
		"a" + strings.Repeat("x", 'a'), // all of it can be read, and its first letter as a length
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01x",
	} {
		require.Nil(t, semel.PartsOf(scope), "%q", scope)
	}
}

func FuzzPartsOf(f *testing.F) {
	f.Add(idempotency.Scope("http", "shop"))
	f.Add("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01x")
	f.Fuzz(func(t *testing.T, scope string) {
		if parts := semel.PartsOf(scope); parts != nil {
			require.Equal(t, scope, idempotency.Scope(parts...))
		}
	})
}
