package stripehook

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stripe/stripe-go/v76"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/internal/jsonfield"
)

// envelope is what an event says of itself, whatever its API version.
type envelope struct {
	id, object, kind string
	tenant           string // the connected account, or what API v2 has instead
	resource         string
	created          time.Time
}

// The values of "object" in an event.
const (
	snapshotObject = "event"         // holds the thing it is about
	thinObject     = "v2.core.event" // holds its id alone
)

// readEnvelope reads the envelope of a body whose signature holds.
//
// Errors: a *webhook.RefusedError if it cannot be read, webhook.ErrNoEvent if
// it is no event's.
func readEnvelope(body []byte) (envelope, error) {
	const id, object, kind, account, ctx, created, resource, related = 0, 1, 2, 3, 4, 5, 6, 7
	f := [...]jsonfield.Field{
		id:       {Path: "id"},
		object:   {Path: "object"},
		kind:     {Path: "type"},
		account:  {Path: "account"},
		ctx:      {Path: "context"},
		created:  {Path: "created"},
		resource: {Path: "data.object.id"},
		related:  {Path: "related_object.id"},
	}
	if err := jsonfield.Read(body, f[:]); err != nil {
		return envelope{}, webhook.Refuse(webhook.Malformed, err)
	}
	e := envelope{
		id:       f[id].Value.String(),
		object:   f[object].Value.String(),
		kind:     f[kind].Value.String(),
		tenant:   f[account].Value.String(),
		resource: f[resource].Value.String(),
		created:  f[created].Value.Time(),
	}
	if e.tenant == "" {
		e.tenant = f[ctx].Value.String()
	}
	if e.resource == "" {
		e.resource = f[related].Value.String()
	}
	switch {
	case e.id == "":
		return envelope{}, fmt.Errorf("%w: it has no id", webhook.ErrNoEvent)
	case e.object != "" && e.object != snapshotObject && e.object != thinObject:
		return envelope{}, fmt.Errorf("%w: it is a %.64q", webhook.ErrNoEvent, e.object)
	}
	return e, nil
}

// ErrThinEvent: a thin event, of API v2, has no form in stripe-go v76.
var ErrThinEvent = errors.New("stripehook: a thin event is no stripe.Event")

// EventFrom returns the event that the handler of ctx was called for, in
// stripe-go v76's form. It does not compare API versions, as stripe-go would:
// where the endpoint's is another than the library's, fields of the object may
// be missing or mean something else. Data is nil if the event has none.
//
// [webhook.Decode] decodes into the types of any other version, or your own.
//
// Errors: ErrThinEvent; others if ctx carries no event of Stripe's, or one that
// stripe-go cannot decode, which no redelivery will mend.
func EventFrom(ctx context.Context) (*stripe.Event, error) {
	if e, ok := webhook.EventFrom(ctx); ok {
		if e.Provider != Provider {
			return nil, fmt.Errorf("stripehook: the event is of %q", e.Provider)
		}
		if env, err := readEnvelope(e.Body); err == nil && env.object == thinObject {
			return nil, ErrThinEvent
		}
	}
	e, err := webhook.Decode[stripe.Event](ctx)
	if err != nil {
		return nil, fmt.Errorf("stripehook: %w", err)
	}
	return &e, nil
}
