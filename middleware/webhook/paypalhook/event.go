package paypalhook

import (
	"fmt"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/internal/jsonfield"
)

// readEvent reads the event of a body whose signature holds, by names as they
// are written: a reader that took "ID" for "id" would see another event.
//
// Errors: a *webhook.RefusedError if it cannot be read, webhook.ErrNoEvent if
// there is none.
func readEvent(body []byte) (webhook.Event, error) {
	const id, kind, created, resource, invoice = 0, 1, 2, 3, 4
	f := [...]jsonfield.Field{
		id:       {Path: "id"},
		kind:     {Path: "event_type"},
		created:  {Path: "create_time"},
		resource: {Path: "resource.id"},
		invoice:  {Path: "resource.invoice.id"}, // Invoicing v2
	}
	if err := jsonfield.Read(body, f[:]); err != nil {
		return webhook.Event{}, webhook.Refuse(webhook.Malformed, err)
	}
	e := webhook.Event{
		Provider: Provider,
		ID:       f[id].Value.String(),
		IDSigned: true,
		Type:     f[kind].Value.String(),
		Resource: f[resource].Value.String(),
		Time:     f[created].Value.Time(),
		Body:     body,
	}
	if e.Resource == "" {
		e.Resource = f[invoice].Value.String()
	}
	if e.ID == "" {
		return webhook.Event{}, fmt.Errorf("%w: it has no id", webhook.ErrNoEvent)
	}
	return e, nil
}
