package stripehook_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v76"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/memstore"
	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/standardhook"
	"github.com/semel-go/semel/middleware/webhook/stripehook"
	"github.com/semel-go/semel/middleware/webhook/webhooktest"
)

// TestEventFrom: stripe-go's form, of any API version.
func TestEventFrom(t *testing.T) {
	t.Parallel()
	deliver := func(body string) (*stripe.Event, error) {
		v, err := stripehook.New(webhook.Secrets{secret}, stripehook.Options{})
		require.NoError(t, err)
		return eventFrom(t, v, func(r *http.Request) { webhooktest.Stripe(secret).Sign(r, []byte(body)) })
	}
	e, err := deliver(`{"id":"evt_1","object":"event","api_version":"2030-01-01.future","type":"invoice.paid",` +
		`"created":1735689600,"data":{"object":{"id":"in_1"}}}`)
	require.NoError(t, err)
	require.Equal(t, "evt_1", e.ID)
	require.Equal(t, stripe.EventTypeInvoicePaid, e.Type)
	require.Equal(t, "in_1", e.GetObjectValue("id"))

	e, err = deliver(`{"id":"evt_1"}`)
	require.NoError(t, err)
	require.Nil(t, e.Data)

	_, err = deliver(`{"id":"evt_2","object":"v2.core.event","created":"2025-01-01T00:00:00Z"}`)
	require.ErrorIs(t, err, stripehook.ErrThinEvent)
	_, err = deliver(`{"id":"evt_3","created":"soon"}`)
	require.ErrorContains(t, err, "stripehook")
}

func TestEventFromElsewhere(t *testing.T) {
	t.Parallel()
	_, err := stripehook.EventFrom(t.Context())
	require.Error(t, err)

	const key = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"
	v, err := standardhook.New(webhook.Secrets{key}, standardhook.Options{})
	require.NoError(t, err)
	_, err = eventFrom(t, v, func(r *http.Request) { webhooktest.Standard(key).Sign(r, []byte(`{"id":"evt_1"}`)) })
	require.ErrorContains(t, err, "standard")
}

// TestOncePerObjectRuns: the second event of one change is answered as the first
// was, and runs if that failed.
func TestOncePerObjectRuns(t *testing.T) {
	t.Parallel()
	v, err := stripehook.New(webhook.Secrets{secret}, stripehook.Options{OncePerObject: []string{"checkout.session.completed"}})
	require.NoError(t, err)
	var ran []string
	deliver := endpoint(t, v, func(_ context.Context, e webhook.Event) error {
		ran = append(ran, e.ID)
		if len(ran) == 1 {
			return errors.New("not yet")
		}
		return nil
	})
	var answers []int
	for _, id := range []string{"evt_1", "evt_2", "evt_1", "evt_3"} {
		answers = append(answers, deliver(func(r *http.Request) {
			webhooktest.Stripe(secret).Sign(r, fmt.Appendf(nil,
				`{"id":%q,"object":"event","type":"checkout.session.completed","data":{"object":{"id":"cs_1"}}}`, id))
		}).Code)
	}
	require.Equal(t, []int{500, 200, 200, 200}, answers)
	require.Len(t, ran, 2)
}

// endpoint returns what delivers to an endpoint with handle behind it.
func endpoint(t *testing.T, v webhook.Verifier, handle func(context.Context, webhook.Event) error) func(sign func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	store, err := memstore.New(memstore.Options{})
	require.NoError(t, err)
	guard, err := idempotency.New(store, idempotency.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, guard.Close(context.WithoutCancel(t.Context()))) })
	handler := webhook.Once(guard, "test", v, webhook.Options{})(webhook.Handle(handle))
	return func(sign func(*http.Request)) *httptest.ResponseRecorder {
		req, answer := httptest.NewRequest(http.MethodPost, "/", http.NoBody), httptest.NewRecorder()
		sign(req)
		handler.ServeHTTP(answer, req)
		return answer
	}
}

// eventFrom calls EventFrom in the handler of a delivery.
func eventFrom(t *testing.T, v webhook.Verifier, sign func(*http.Request)) (e *stripe.Event, err error) {
	t.Helper()
	called := false
	answer := endpoint(t, v, func(ctx context.Context, _ webhook.Event) error {
		called = true
		e, err = stripehook.EventFrom(ctx)
		return nil
	})(sign)
	require.True(t, called, answer.Body)
	return e, err
}
