package paddlehook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/internal/jsonfield"
	"github.com/semel-go/semel/middleware/webhook/internal/signed"
)

// Provider is the name in keys and events.
const Provider = "paddle"

// DefaultMaxAge is the default of Options.MaxAge: three days of Paddle's retries
// and one of slack.
const DefaultMaxAge = 4 * 24 * time.Hour

// headerName is Paddle-Signature in its canonical form.
const headerName = "Paddle-Signature"

// Options says how deliveries are judged. The zero value is safe.
type Options struct {
	// MaxAge is how old the signature's timestamp may be. It should be no longer
	// than Once's retention, or what was captured runs again in between. Shorter
	// than Paddle retries it loses events, if a retry has its first attempt's
	// timestamp.
	// Default: 4 days.
	MaxAge time.Duration

	// Now is the clock.
	// Default: time.Now.
	Now func() time.Time
}

// Verifier verifies Paddle's deliveries. It is safe for concurrent use.
type Verifier struct {
	secrets webhook.SecretSource
	maxAge  time.Duration
	now     func() time.Time
}

var (
	_ webhook.Verifier = (*Verifier)(nil)
	_ webhook.Adviser  = (*Verifier)(nil)
)

// New returns a Verifier. The secrets are those of the notification destination,
// whole, with their pdl_ntfset_: one for each destination that delivers here, and
// the old one as well while it is being rotated.
//
// Errors: webhook.ErrSecrets, wrapped, and one for each field out of its range.
func New(secrets webhook.SecretSource, o Options) (*Verifier, error) {
	var errs []error
	if err := signed.Secrets(secrets); err != nil {
		errs = append(errs, err)
	}
	if o.MaxAge < 0 {
		errs = append(errs, errors.New("field MaxAge is negative"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("paddlehook: %w", err)
	}
	v := &Verifier{secrets: secrets, maxAge: cmp.Or(o.MaxAge, DefaultMaxAge), now: o.Now}
	if v.now == nil {
		v.now = time.Now
	}
	return v, nil
}

// Provider returns "paddle"; [webhook.Verifier].
func (*Verifier) Provider() string { return Provider }

// Policy implements [webhook.Adviser]. Paddle waits 5 s for an answer of 200 and
// delivers 60 times more within 3 days, in its sandbox 3 times within 15 minutes.
func (*Verifier) Policy() webhook.Policy {
	return webhook.Policy{Patience: 5 * time.Second, Retention: 30 * 24 * time.Hour, MaxBody: 1 << 20}
}

// Verify implements [webhook.Verifier]. The delivery holds one event.
//
// Errors: *webhook.RefusedError: MissingHeader; Malformed for a doubled header,
// one that cannot be read, has no timestamp or two, or more than 16 signatures,
// and for a body that is signed and is not JSON or has a name twice that counts;
// NoMatch; Expired, only if the signature holds. webhook.ErrNoEvent for a body
// without an event's id; webhook.ErrUnavailable from a SecretFunc.
func (v *Verifier) Verify(ctx context.Context, header http.Header, body []byte) (webhook.Delivery, error) {
	value, err := signed.Header(header, headerName)
	if err != nil {
		return webhook.Delivery{}, err
	}
	s, err := parse(value)
	if err != nil {
		return webhook.Delivery{}, err
	}
	secrets, tenant, err := v.secrets.SecretsFor(ctx, header, body)
	if err != nil {
		return webhook.Delivery{}, err
	}
	if !s.signedBy(secrets, body) {
		return webhook.Delivery{}, webhook.Refuse(webhook.NoMatch, nil)
	}
	if err := signed.Recent(s.at, v.now(), v.maxAge); err != nil {
		return webhook.Delivery{}, err
	}
	e, err := event(tenant, body)
	if err != nil {
		return webhook.Delivery{}, err
	}
	return webhook.Delivery{Events: []webhook.Event{e}}, nil
}

// event makes an event of a body whose signature holds.
func event(tenant string, body []byte) (webhook.Event, error) {
	const id, kind, occurred, resource = 0, 1, 2, 3
	f := [...]jsonfield.Field{
		id:       {Path: "event_id"},
		kind:     {Path: "event_type"},
		occurred: {Path: "occurred_at"},
		resource: {Path: "data.id"},
	}
	if err := jsonfield.Read(body, f[:]); err != nil {
		return webhook.Event{}, webhook.Refuse(webhook.Malformed, err)
	}
	e := webhook.Event{
		Provider: Provider,
		Tenant:   tenant,
		ID:       f[id].Value.String(),
		IDSigned: true,
		Type:     f[kind].Value.String(),
		Resource: f[resource].Value.String(),
		Time:     f[occurred].Value.Time(),
		Body:     body,
	}
	if e.ID == "" {
		return webhook.Event{}, fmt.Errorf("%w: it has no event_id", webhook.ErrNoEvent)
	}
	return e, nil
}
