package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Event is one thing that a provider tells.
type Event struct {
	// Provider is the verifier's name.
	Provider string
	// Endpoint is the consumer's name, as given to Once.
	Endpoint string
	// Tenant is the account, shop or hook at the provider that the event
	// belongs to; "" if there is none. It is part of the key.
	Tenant string
	// ID is the same for every delivery of the event, never empty.
	ID string
	// IDSigned says that the signature covers ID. If it does not, whoever
	// captured a delivery can send its body again under another id: see
	// Options.BindBody.
	IDSigned bool
	// Type is the provider's name for the kind of event; "" if it has none.
	Type string
	// Resource is the id of the thing that the event is about, if the
	// provider tells it: events of one resource can be run one at a time.
	Resource string
	// Time is when it happened, as the provider says; zero if it does not.
	Time time.Time
	// Attempt is the delivery's number as the provider counts, 0 if it does
	// not. It is not signed anywhere: for logs only.
	Attempt int
	// Body is the event as the provider sent it: the request's body, or, of a
	// batch, the provider's envelope holding this event alone; of a form that
	// is a wrapping, the JSON in it. It must not be changed.
	Body []byte
	// ContentType is that of Body where the request's is another one's, as
	// that of the form. The handler's request has it.
	// Default: the request's stands.
	ContentType string
}

// EventFrom returns the event that the handler of ctx was called for. There is
// none outside Once, and for a delivery that was passed through.
func EventFrom(ctx context.Context) (Event, bool) {
	h, ok := ctx.Value(handlingKey{}).(*handling)
	if !ok || h.event == nil {
		return Event{}, false
	}
	return *h.event, true
}

// errNoEvent is Decode's error outside a handler.
var errNoEvent = errors.New("webhook: the context carries no event")

// Decode decodes the JSON body of the event that ctx carries into a T: your own
// type, or the one of any version of the provider's library.
//
// An error says that the body does not fit T, which no redelivery will mend:
// wrap it in [Permanent] if the event is to be given up.
func Decode[T any](ctx context.Context) (T, error) {
	var v T
	e, ok := EventFrom(ctx)
	if !ok {
		return v, errNoEvent
	}
	if err := json.Unmarshal(e.Body, &v); err != nil {
		return v, fmt.Errorf("webhook: decode %s event: %w", e.Provider, err)
	}
	return v, nil
}
