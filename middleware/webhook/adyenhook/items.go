package adyenhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/internal/jsonfield"
	"github.com/semel-go/semel/middleware/webhook/internal/signed"
)

// maxItems bounds a delivery. Adyen sends one item, and at most a few; whoever
// has a genuine one could fill a body with it.
const maxItems = 64

// The names of the envelope.
const (
	listName = "notificationItems"
	liveName = "live"
)

// What is wrong with an envelope.
var (
	errItems = errors.New("the body has no list of notificationItems")
	errMany  = fmt.Errorf("the body has more than %d items", maxItems)
)

// items verifies a standard delivery: every item, before any of them is an event.
func (v *Verifier) items(ctx context.Context, header http.Header, body []byte) (webhook.Delivery, error) {
	list, live, err := readEnvelope(body)
	if err != nil {
		return webhook.Delivery{}, err
	}
	k, tenant, err := v.keys(ctx, header, body)
	if err != nil {
		return webhook.Delivery{}, err
	}
	var d webhook.Delivery
	for i, raw := range list {
		it, err := readItem(raw)
		if err == nil && !k.signed(it.content(), it.signature) {
			err = webhook.Refuse(webhook.NoMatch, fmt.Errorf("item %d", i+1))
		}
		if err != nil {
			return webhook.Delivery{}, err
		}
		if it.psp == "" || it.code == "" {
			return webhook.Delivery{}, fmt.Errorf("%w: item %d has no pspReference or no eventCode", webhook.ErrNoEvent, i+1)
		}
		e := it.event()
		e.Tenant = signed.Tenant(tenant, it.account)
		if e.Body = body; len(list) > 1 {
			e.Body = envelope(live, raw)
		}
		d.Events = append(d.Events, e)
	}
	return d, nil
}

// readEnvelope returns the items of a body, as they are written, and its live.
func readEnvelope(body []byte) ([]json.RawMessage, jsonfield.Value, error) {
	const items, live = 0, 1
	f := [...]jsonfield.Field{items: {Path: listName}, live: {Path: liveName}}
	if err := jsonfield.Read(body, f[:]); err != nil {
		return nil, nil, webhook.Refuse(webhook.Malformed, err)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(f[items].Value, &list); err != nil || len(list) == 0 {
		return nil, nil, webhook.Refuse(webhook.Malformed, errItems)
	}
	if len(list) > maxItems {
		return nil, nil, webhook.Refuse(webhook.Malformed, errMany)
	}
	return list, f[live].Value, alike(body, listName)
}

// envelope returns Adyen's envelope with one item.
func envelope(live jsonfield.Value, item []byte) []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	if live != nil {
		b.WriteString(`"` + liveName + `":`)
		b.Write(live)
		b.WriteByte(',')
	}
	b.WriteString(`"` + listName + `":[`)
	b.Write(item)
	b.WriteString(`]}`)
	return b.Bytes()
}
