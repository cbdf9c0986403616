package shopifyhook

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/internal/signed"
)

// Provider is the name in keys and events.
const Provider = "shopify"

// IDKind says which of Shopify's two ids is the event's.
type IDKind int

// The ids.
const (
	// ByWebhook is X-Shopify-Webhook-Id: two subscriptions to one topic at one
	// endpoint are two events.
	ByWebhook IDKind = iota
	// ByEvent is the topic and X-Shopify-Event-Id: two subscriptions to one
	// topic are one event. What a merchant did may be told under several
	// topics, with one event id; each of them runs.
	ByEvent
)

// Options says what an event is. The zero value is safe.
type Options struct {
	// ID is which id is the event's. It is part of the key: do not change it
	// later, or what is redelivered runs again.
	// Default: ByWebhook.
	ID IDKind
}

// Verifier verifies Shopify's deliveries. It is safe for concurrent use.
type Verifier struct {
	secrets webhook.SecretSource
	id      IDKind
}

var (
	_ webhook.Verifier = (*Verifier)(nil)
	_ webhook.Adviser  = (*Verifier)(nil)
)

// New returns a Verifier. The secrets are the app's client secret, the one of the
// admin for webhooks that were made there, and the old one as well while one is
// being rotated. Apps that have a client secret for each shop name it with a
// webhook.SecretFunc.
//
// Errors: webhook.ErrSecrets, wrapped, and one for each field out of its range.
func New(secrets webhook.SecretSource, o Options) (*Verifier, error) {
	var errs []error
	if err := signed.Secrets(secrets); err != nil {
		errs = append(errs, err)
	}
	if o.ID != ByWebhook && o.ID != ByEvent {
		errs = append(errs, errors.New("field ID is none of ByWebhook and ByEvent"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("shopifyhook: %w", err)
	}
	return &Verifier{secrets: secrets, id: o.ID}, nil
}

// Provider returns "shopify"; [webhook.Verifier].
func (*Verifier) Provider() string { return Provider }

// Policy implements [webhook.Adviser]. Shopify waits 5 s, counts refusals, and
// retries for 4 hours. It publishes no size of a body.
func (*Verifier) Policy() webhook.Policy {
	const patience = 5 * time.Second
	return webhook.Policy{Wait: patience / 2, Patience: patience, Retention: 7 * 24 * time.Hour, MaxBody: 1 << 20}
}

// Verify implements [webhook.Verifier]. The delivery holds one event.
//
// Errors: *webhook.RefusedError: MissingHeader; Malformed for a doubled header, a
// signature that cannot be one, and a signed body that has a name twice that
// counts; NoMatch; Forged for a body that names another shop than the header.
// webhook.ErrUnavailable from a SecretFunc.
func (v *Verifier) Verify(ctx context.Context, header http.Header, body []byte) (webhook.Delivery, error) {
	signature, err := readSignature(header)
	if err != nil {
		return webhook.Delivery{}, err
	}
	e, err := v.readHeader(header)
	if err != nil {
		return webhook.Delivery{}, err
	}
	secrets, tenant, err := v.secrets.SecretsFor(ctx, header, body)
	if err != nil {
		return webhook.Delivery{}, err
	}
	if !match(secrets, signature, body) {
		return webhook.Delivery{}, webhook.Refuse(webhook.NoMatch, nil)
	}
	if err := readBody(&e, body); err != nil {
		return webhook.Delivery{}, err
	}
	e.Tenant = signed.Tenant(tenant, e.Tenant)
	return webhook.Delivery{Events: []webhook.Event{e}}, nil
}

// readSignature returns the signature that header holds.
func readSignature(header http.Header) ([]byte, error) {
	value, err := signed.Header(header, signatureHeader)
	if err != nil {
		return nil, err
	}
	mac, ok := signed.Base64(base64.StdEncoding, value, sha256.Size)
	if !ok {
		return nil, webhook.Refuse(webhook.Malformed, errors.New("the signature's header does not hold one"))
	}
	return mac, nil
}

// match reports whether one of the secrets made the signature.
func match(secrets webhook.Secrets, signature, body []byte) bool {
	for _, s := range secrets {
		if signed.Equal(signed.MAC(sha256.New, []byte(s), body), signature) {
			return true
		}
	}
	return false
}
