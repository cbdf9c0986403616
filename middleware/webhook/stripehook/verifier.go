package stripehook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	stripewebhook "github.com/stripe/stripe-go/v76/webhook"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/internal/signed"
)

// Provider is the name in keys and events.
const Provider = "stripe"

// headerName is Stripe-Signature in its canonical form.
const headerName = "Stripe-Signature"

// Options says how deliveries are judged. The zero value is safe.
type Options struct {
	// Tolerance is how far the signature's timestamp may be from now, in the
	// past and in the future.
	// Default: 5 min.
	Tolerance time.Duration

	// OncePerObject names event types, as "checkout.session.completed", of
	// which each object has one event at most in your business. Stripe at times
	// makes two Event objects, with two ids, of one change; of these types the
	// id of an event is then not Stripe's but the type and the object's id, so
	// that the second is a duplicate of the first: answered with the first's
	// recorded answer, and run if the first failed. An event whose object has
	// no id keeps its own.
	//
	// Do not name a type that an object goes through more than once, such as
	// customer.subscription.updated, or charge.refunded, which comes with every
	// partial refund: all but the first would be lost.
	// Default: none.
	OncePerObject []string

	// Now is the clock.
	// Default: time.Now.
	Now func() time.Time
}

// Verifier verifies Stripe's deliveries. It is safe for concurrent use.
type Verifier struct {
	secrets   webhook.SecretSource
	tolerance time.Duration
	once      []string
	now       func() time.Time
}

var (
	_ webhook.Verifier = (*Verifier)(nil)
	_ webhook.Adviser  = (*Verifier)(nil)
)

// New returns a Verifier. The secrets are those of the endpoint, whole, with
// their whsec_: one for each of Stripe's endpoints and destinations that deliver
// here, and the old one as well while it is being rolled.
//
// Errors: webhook.ErrSecrets, wrapped, and one for each field out of its range.
func New(secrets webhook.SecretSource, o Options) (*Verifier, error) {
	var errs []error
	if err := signed.Secrets(secrets); err != nil {
		errs = append(errs, err)
	}
	if o.Tolerance < 0 {
		errs = append(errs, errors.New("field Tolerance is negative"))
	}
	for _, t := range o.OncePerObject {
		if t == "" || strings.Contains(t, ":") {
			errs = append(errs, fmt.Errorf("field OncePerObject: %q is no event type", t))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("stripehook: %w", err)
	}
	v := &Verifier{
		secrets:   secrets,
		tolerance: cmp.Or(o.Tolerance, signed.DefaultTolerance),
		once:      slices.Clone(o.OncePerObject),
		now:       o.Now,
	}
	if v.now == nil {
		v.now = time.Now
	}
	return v, nil
}

// Provider returns "stripe"; [webhook.Verifier].
func (*Verifier) Provider() string { return Provider }

// Policy implements [webhook.Adviser]. Stripe retries for 3 days and lets people
// resend for 30 (its CLI; the Dashboard for 15). How long it waits is not
// published: 10 s is what Checkout waits before it redirects the customer.
func (*Verifier) Policy() webhook.Policy {
	return webhook.Policy{Patience: 10 * time.Second, Retention: 30 * 24 * time.Hour, MaxBody: 1 << 20}
}

// Verify implements [webhook.Verifier]. The delivery holds one event.
//
// Errors: *webhook.RefusedError: MissingHeader; Malformed for a doubled header,
// one that cannot be read or has no timestamp, and for a body that is signed and
// is not JSON or has a name twice that counts; NoMatch; Expired, only if the
// signature holds. webhook.ErrNoEvent for a body without an event's id;
// webhook.ErrUnavailable from a SecretFunc.
func (v *Verifier) Verify(ctx context.Context, header http.Header, body []byte) (webhook.Delivery, error) {
	value, err := signed.Header(header, headerName)
	if err != nil {
		return webhook.Delivery{}, err
	}
	at, err := timestamp(value)
	if err != nil {
		return webhook.Delivery{}, err
	}
	secrets, tenant, err := v.secrets.SecretsFor(ctx, header, body)
	if err != nil {
		return webhook.Delivery{}, err
	}
	if err := match(body, value, secrets); err != nil {
		return webhook.Delivery{}, err
	}
	if err := signed.Fresh(at, v.now(), v.tolerance); err != nil {
		return webhook.Delivery{}, err
	}
	e, err := readEnvelope(body)
	if err != nil {
		return webhook.Delivery{}, err
	}
	return webhook.Delivery{Events: []webhook.Event{v.event(e, tenant, body)}}, nil
}

// match finds the secret that signed body. The age of the signature is checked
// apart, since stripe-go has no clock but the system's and believes any future.
func match(body []byte, header string, secrets webhook.Secrets) error {
	for _, s := range secrets {
		switch err := stripewebhook.ValidatePayloadIgnoringTolerance(body, header, s); {
		case err == nil:
			return nil
		case errors.Is(err, stripewebhook.ErrInvalidHeader):
			return webhook.Refuse(webhook.Malformed, err)
		}
	}
	return webhook.Refuse(webhook.NoMatch, nil)
}

// timestamp reads t from the header, the last if there are several, as
// stripe-go does: it is the one that is signed.
func timestamp(header string) (time.Time, error) {
	text := ""
	for part := range strings.SplitSeq(header, ",") {
		if t, ok := strings.CutPrefix(part, "t="); ok {
			text = t
		}
	}
	return signed.Seconds(text)
}

// event makes an event of what its envelope says.
func (v *Verifier) event(e envelope, tenant string, body []byte) webhook.Event {
	id := e.id
	if e.resource != "" && slices.Contains(v.once, e.kind) {
		id = e.kind + ":" + e.resource
	}
	return webhook.Event{
		Provider: Provider,
		Tenant:   signed.Tenant(tenant, e.tenant),
		ID:       id,
		IDSigned: true,
		Type:     e.kind,
		Resource: e.resource,
		Time:     e.created,
		Body:     body,
	}
}
