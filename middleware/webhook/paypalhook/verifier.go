package paypalhook

import (
	"cmp"
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"net/http"
	"time"

	"github.com/semel-go/semel/middleware/webhook"
)

// Provider is the name in keys and events.
const Provider = "paypal"

// ahead is how far PayPal's clock may be ahead of ours.
const ahead = 5 * time.Minute

// slack is how much longer a binding holds than a transmission is believed, for
// instances whose clocks are behind the one that bound.
const slack = time.Hour

// Verifier verifies PayPal's deliveries. It is safe for concurrent use. A fetch
// of a certificate may go on for 5 s after the delivery that began it was given
// up; there is nothing to close.
type Verifier struct {
	webhookID string
	env       environment
	keys      *keyring
	maxAge    time.Duration
	reread    func(context.Context, webhook.Event) ([]byte, error)
	now       func() time.Time
}

var (
	_ webhook.Verifier = (*Verifier)(nil)
	_ webhook.Adviser  = (*Verifier)(nil)
)

// New returns a Verifier for the webhook with this id, which PayPal gives it
// when it is made. It is no secret. It does not reach out to PayPal.
//
// Errors: ErrWebhookID, wrapped, and one for each field out of its range.
func New(webhookID string, o Options) (*Verifier, error) {
	if err := o.validate(webhookID); err != nil {
		return nil, err
	}
	env, _ := o.Env.environment()
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Fetch == nil {
		o.Fetch = newFetcher(nil, nil)
	}
	if o.Intermediates == nil {
		o.Intermediates = shipped()
	}
	trust := trust{signer: env.signer, roots: o.Roots, intermediates: o.Intermediates}
	return &Verifier{
		webhookID: webhookID,
		env:       env,
		keys:      newKeyring(o.Fetch, trust, o.Now),
		maxAge:    cmp.Or(o.MaxAge, DefaultMaxAge),
		reread:    o.Reread,
		now:       o.Now,
	}, nil
}

// Provider returns "paypal"; [webhook.Verifier].
func (*Verifier) Provider() string { return Provider }

// Policy implements [webhook.Adviser]. PayPal tries up to 25 times within 3 days
// and lets people resend what failed; how long it waits is not published.
func (*Verifier) Policy() webhook.Policy {
	return webhook.Policy{Retention: 30 * 24 * time.Hour, MaxBody: 1 << 20, Binds: true}
}

// Verify implements [webhook.Verifier]. The delivery holds one event and one
// binding, without which it is worth little: see the package's comment.
//
// Errors: *webhook.RefusedError: MissingHeader; Malformed for a header that is
// doubled or cannot be read, a URL against the policy, and a body whose signature
// holds that is not JSON or has a name twice that counts; NoMatch for a signature
// that does not hold, and for a certificate that is not there, not one, or not
// PayPal's; Expired, only if the signature holds; Forged by Reread.
// webhook.ErrNoEvent for a body without an event's id. webhook.ErrUnavailable if
// the certificate or the event could not be fetched just now.
func (v *Verifier) Verify(ctx context.Context, header http.Header, body []byte) (webhook.Delivery, error) {
	t, err := readTransmission(header, v.env)
	if err != nil {
		return webhook.Delivery{}, err
	}
	key, err := v.keys.get(ctx, t.certURL)
	if err != nil {
		return webhook.Delivery{}, err
	}
	text := t.signedText(v.webhookID, body)
	sum := sha256.Sum256([]byte(text))
	if rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], t.signature) != nil {
		return webhook.Delivery{}, webhook.Refuse(webhook.NoMatch, nil)
	}
	believed, err := t.fresh(v.now(), v.maxAge)
	if err != nil {
		return webhook.Delivery{}, err
	}
	e, err := readEvent(body)
	if err != nil {
		return webhook.Delivery{}, err
	}
	if v.reread != nil {
		if err := v.compare(ctx, e); err != nil {
			return webhook.Delivery{}, err
		}
	}
	return webhook.Delivery{
		Events:   []webhook.Event{e},
		Bindings: []webhook.Binding{{ID: text, Digest: sha256.Sum256(body), For: believed + slack}},
	}, nil
}
