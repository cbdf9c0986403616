package shopifyhook

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/internal/jsonfield"
	"github.com/semel-go/semel/middleware/webhook/internal/signed"
)

// Shopify's headers in their canonical form.
const (
	signatureHeader = "X-Shopify-Hmac-Sha256"
	webhookHeader   = "X-Shopify-Webhook-Id"
	eventHeader     = "X-Shopify-Event-Id"
	shopHeader      = "X-Shopify-Shop-Domain"
	topicHeader     = "X-Shopify-Topic"
	timeHeader      = "X-Shopify-Triggered-At"
)

// readHeader returns the event as far as the headers tell.
func (v *Verifier) readHeader(header http.Header) (webhook.Event, error) {
	e := webhook.Event{Provider: Provider}
	name := webhookHeader
	if v.id == ByEvent {
		name = eventHeader
	}
	id, err := signed.Header(header, name)
	if err != nil {
		return webhook.Event{}, err
	}
	shop, err := signed.Header(header, shopHeader)
	if err != nil {
		return webhook.Event{}, err
	}
	if e.Type, err = signed.Header(header, topicHeader); err != nil {
		return webhook.Event{}, err
	}
	at, err := signed.Optional(header, timeHeader)
	if err != nil {
		return webhook.Event{}, err
	}
	if t, err := time.Parse(time.RFC3339Nano, at); err == nil {
		e.Time = t
	}
	e.ID, e.Tenant = id, strings.ToLower(shop)
	if v.id == ByEvent {
		e.ID = e.Type + ":" + id
	}
	return e, nil
}

// errShop is a header that was changed, or a body that was sent elsewhere.
var errShop = errors.New("the body and the header name two shops")

// readBody fills in what a body whose signature holds says of e, whose Tenant is
// the shop of the header. A body that is not JSON, or names no shop, is as good
// as any: the key does not need it.
func readBody(e *webhook.Event, body []byte) error {
	const id, shop, compliance = 0, 1, 2
	f := [...]jsonfield.Field{
		id:         {Path: "id"},
		shop:       {Path: "myshopify_domain"}, // of shop/update and app/uninstalled
		compliance: {Path: "shop_domain"},      // of the compliance topics
	}
	if err := jsonfield.Read(body, f[:]); errors.Is(err, jsonfield.ErrTwice) {
		return webhook.Refuse(webhook.Malformed, err)
	}
	for _, field := range f[shop:] {
		if named := field.Value.String(); named != "" && !strings.EqualFold(named, e.Tenant) {
			return webhook.Refuse(webhook.Forged, fmt.Errorf("%w: %.64q and %.64q", errShop, named, e.Tenant))
		}
	}
	e.Resource, e.Body = f[id].Value.ID(), body
	return nil
}
