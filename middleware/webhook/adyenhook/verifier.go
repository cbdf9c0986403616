package adyenhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/internal/signed"
)

// Provider is the name in keys and events.
const Provider = "adyen"

// Verifier verifies Adyen's deliveries. It is safe for concurrent use.
type Verifier struct {
	secrets webhook.SecretSource
	static  keys // the secrets, if they are always the same
	o       Options
}

var (
	_ webhook.Verifier = (*Verifier)(nil)
	_ webhook.Adviser  = (*Verifier)(nil)
)

// New returns a Verifier. The secrets are HMAC keys in hexadecimal, as Adyen
// shows them: one for each of the webhooks that deliver here, and the old one as
// well until what was signed with it has come.
//
// Errors: webhook.ErrSecrets, wrapped, also for one that is not hexadecimal; one
// for each field that is wrong.
func New(secrets webhook.SecretSource, o Options) (*Verifier, error) {
	v := &Verifier{secrets: secrets, o: o}
	v.o.IDFields = slices.Clone(o.IDFields)
	err := signed.Secrets(secrets)
	if list, ok := secrets.(webhook.Secrets); ok && err == nil {
		v.static, err = parse(list)
	}
	if err := errors.Join(err, o.validate()); err != nil {
		return nil, fmt.Errorf("adyenhook: %w", err)
	}
	return v, nil
}

// Provider returns "adyen"; [webhook.Verifier].
func (*Verifier) Provider() string { return Provider }

// Policy implements [webhook.Adviser]. Adyen waits 10 s and delivers again for up
// to 30 days, and no other event before this one has been taken: a duplicate
// therefore waits.
func (v *Verifier) Policy() webhook.Policy {
	p := webhook.Policy{
		Wait: 5 * time.Second, Patience: 10 * time.Second, Retention: 35 * 24 * time.Hour, MaxBody: 1 << 20,
		OK: http.StatusAccepted,
	}
	if v.o.AcceptedBody {
		p.OK, p.OKBody = http.StatusOK, "[accepted]"
	}
	return p
}

// Verify implements [webhook.Verifier]. The delivery holds an event for each item,
// or one in the form Header. An event's body is the delivery's if there is one,
// otherwise an envelope with its item alone.
//
// Errors: *webhook.RefusedError: MissingHeader, also for an item without a
// signature; Malformed for a doubled header, a signature that cannot be one, and
// for a body that is no JSON, holds no items or more than 64, or an item that
// could be read in two ways; NoMatch, if one item's signature does not hold.
// webhook.ErrNoEvent for an item without a pspReference or an eventCode, and a
// body without one of Options.IDFields; webhook.ErrUnavailable from a SecretFunc.
func (v *Verifier) Verify(ctx context.Context, header http.Header, body []byte) (webhook.Delivery, error) {
	if v.o.Form == Header {
		return v.whole(ctx, header, body)
	}
	return v.items(ctx, header, body)
}

// keys returns the keys of a delivery and the tenant that they belong to.
func (v *Verifier) keys(ctx context.Context, header http.Header, body []byte) (keys, string, error) {
	if v.static != nil {
		return v.static, "", nil
	}
	secrets, tenant, err := v.secrets.SecretsFor(ctx, header, body)
	if err != nil {
		return nil, "", err
	}
	k, err := parse(secrets)
	if err != nil {
		return nil, "", fmt.Errorf("%w: %w", webhook.ErrUnavailable, err)
	}
	return k, tenant, nil
}
