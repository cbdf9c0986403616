package slackhook_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/memstore"
	"github.com/semel-go/semel/internal/leaktest"
	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/slackhook"
	"github.com/semel-go/semel/middleware/webhook/webhooktest"
)

func TestMain(m *testing.M) {
	os.Exit(leaktest.Main(m, "semel/middleware/webhook", "semel/idempotency", "internal/keeper"))
}

const (
	secret = "8f742231b10e8888abcd99yyyzzz85a5"
	old    = "00000000000000000000000000000000"
	header = "X-Slack-Signature"
	stamp  = "X-Slack-Request-Timestamp"
)

const mention = `{"token":"t","team_id":"T061EG9R6","api_app_id":"A0MDYCDME","event":{"type":"app_mention","user":"U1",` +
	`"text":"<@U0> hi","ts":"1735732800.000700","channel":"C0LAN2Q65","event_ts":"1735732800.000700"},` +
	`"type":"event_callback","event_id":"Ev9UQ52YNA","event_time":1735732800}`

// command is the form of a slash command.
const command = "token=t&team_id=T061EG9R6&channel_id=C0LAN2Q65&user_id=U1&command=%2Fdeploy&text=a%26payload%3D1+b" +
	"&response_url=https%3A%2F%2Fhooks.example&trigger_id=398738663015.47445629121.803a0bc887&api_app_id=A0MDYCDME"

// interaction returns the form of an interaction.
func interaction(payload string) string { return "payload=" + url.QueryEscape(payload) }

const click = `{"type":"block_actions","team":{"id":"T061EG9R6"},"api_app_id":"A0MDYCDME","trigger_id":"1.2.3",` +
	`"channel":{"id":"C0LAN2Q65"},"actions":[{"action_id":"ok"}]}`

// now is the time in these tests.
var now = time.Date(2025, 1, 1, 12, 0, 0, 0, time.UTC)

// open returns a Verifier.
func open(tb testing.TB, o slackhook.Options, secrets ...string) *slackhook.Verifier {
	tb.Helper()
	if len(secrets) == 0 {
		secrets = []string{secret}
	}
	if o.Now == nil {
		o.Now = func() time.Time { return now }
	}
	v, err := slackhook.New(webhook.Secrets(secrets), o)
	require.NoError(tb, err)
	return v
}

// signer signs at now.
func signer() webhooktest.SlackSigner { return webhooktest.Slack(secret).At(now) }

// request returns a delivery of body.
func request(s webhooktest.SlackSigner, body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
	s.Sign(r, []byte(body))
	return r
}

// with returns h with one header set to other values.
func with(h http.Header, name string, values ...string) http.Header {
	h = h.Clone()
	h[name] = values
	return h
}

// event returns the one event of d.
func event(tb testing.TB, d webhook.Delivery, err error) webhook.Event {
	tb.Helper()
	require.NoError(tb, err)
	require.Len(tb, d.Events, 1)
	require.Empty(tb, d.Bindings)
	require.False(tb, d.Passthrough)
	return d.Events[0]
}

// reason returns why err refuses; "" if it does not.
func reason(err error) webhook.Reason {
	if refused, ok := errors.AsType[*webhook.RefusedError](err); ok {
		return refused.Reason
	}
	return ""
}

// once is handler behind Once, in memory.
func once(t *testing.T, v webhook.Verifier, handler http.Handler) http.Handler {
	t.Helper()
	store, err := memstore.New(memstore.Options{})
	require.NoError(t, err)
	guard, err := idempotency.New(store, idempotency.Options{})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(t, guard.Close(ctx))
		require.NoError(t, store.Close())
	})
	return webhook.Once(guard, "bot", v, webhook.Options{})(handler)
}

// deliver sends r to h.
func deliver(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
