package squarehook

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/internal/jsonfield"
	"github.com/semel-go/semel/middleware/webhook/internal/signed"
)

// Provider is the name in keys and events.
const Provider = "square"

// Square's headers in their canonical form.
const (
	signatureHeader = "X-Square-Hmacsha256-Signature"
	retryHeader     = "Square-Retry-Number"
)

// Options says how deliveries are judged. The zero value is safe for as long as
// Once remembers the events.
type Options struct {
	// MaxAge is how long after its created_at an event is believed. It must be
	// longer than Square delivers, 24 hours, and should be shorter than the
	// retention. With it, the test notifications of Square's console may be
	// refused: they can carry a date of long ago.
	// Default: for ever.
	MaxAge time.Duration

	// Now is the clock.
	// Default: time.Now.
	Now func() time.Time
}

// Verifier verifies Square's deliveries. It is safe for concurrent use.
type Verifier struct {
	url     []byte
	secrets webhook.SecretSource
	maxAge  time.Duration
	now     func() time.Time
}

var (
	_ webhook.Verifier = (*Verifier)(nil)
	_ webhook.Adviser  = (*Verifier)(nil)
)

// New returns a Verifier for the subscriptions with this notification URL,
// exactly as it was entered at Square. The secrets are their signature keys, as
// Square shows them: one for each of them, and the old one as well while it is
// being replaced.
//
// Errors: webhook.ErrSecrets, wrapped; one for a URL that Square would not take,
// which is https and absolute; one for each field out of its range.
func New(notificationURL string, secrets webhook.SecretSource, o Options) (*Verifier, error) {
	var errs []error
	if err := checkURL(notificationURL); err != nil {
		errs = append(errs, err)
	}
	if err := signed.Secrets(secrets); err != nil {
		errs = append(errs, err)
	}
	if o.MaxAge < 0 {
		errs = append(errs, errors.New("field MaxAge is negative"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("squarehook: %w", err)
	}
	v := &Verifier{url: []byte(notificationURL), secrets: secrets, maxAge: o.MaxAge, now: o.Now}
	if v.now == nil {
		v.now = time.Now
	}
	return v, nil
}

// checkURL returns why text cannot be a notification URL. It is never changed:
// Square signs it as it was entered.
func checkURL(text string) error {
	for _, c := range []byte(text) {
		if c <= ' ' || c == 0x7f {
			return errors.New("the notification URL holds white space or a control character")
		}
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return errors.New("the notification URL must be absolute and begin with https://")
	}
	return nil
}

// Provider returns "square"; [webhook.Verifier].
func (*Verifier) Provider() string { return Provider }

// Policy implements [webhook.Adviser]. Square waits 10 s for an answer and
// delivers 11 times more within 24 hours; older pages of its documentation say 72.
func (*Verifier) Policy() webhook.Policy {
	return webhook.Policy{Patience: 10 * time.Second, Retention: 7 * 24 * time.Hour, MaxBody: 1 << 20}
}

// Verify implements [webhook.Verifier]. The delivery holds one event.
//
// Errors: *webhook.RefusedError: MissingHeader; Malformed for a doubled header,
// a signature that cannot be one, an empty body, and for a body that is signed
// and is not JSON or has a name twice that counts; NoMatch; Expired, only if the
// signature holds. webhook.ErrNoEvent for a body without an event's id;
// webhook.ErrUnavailable from a SecretFunc.
func (v *Verifier) Verify(ctx context.Context, header http.Header, body []byte) (webhook.Delivery, error) {
	text, err := signed.Header(header, signatureHeader)
	if err != nil {
		return webhook.Delivery{}, err
	}
	signature, ok := signed.Base64(base64.StdEncoding, text, sha256.Size)
	if !ok {
		return webhook.Delivery{}, webhook.Refuse(webhook.Malformed, errors.New("the signature's header does not hold one"))
	}
	if len(body) == 0 {
		return webhook.Delivery{}, webhook.Refuse(webhook.Malformed, errors.New("the body is empty"))
	}
	secrets, tenant, err := v.secrets.SecretsFor(ctx, header, body)
	if err != nil {
		return webhook.Delivery{}, err
	}
	if !v.match(secrets, signature, body) {
		return webhook.Delivery{}, webhook.Refuse(webhook.NoMatch, nil)
	}
	e, err := v.event(tenant, body)
	if err != nil {
		return webhook.Delivery{}, err
	}
	e.Attempt = attempt(header)
	return webhook.Delivery{Events: []webhook.Event{e}}, nil
}

// match reports whether one of the secrets made the signature.
func (v *Verifier) match(secrets webhook.Secrets, signature, body []byte) bool {
	for _, s := range secrets {
		if signed.Equal(signed.MAC(sha256.New, []byte(s), v.url, body), signature) {
			return true
		}
	}
	return false
}

// event makes an event of a body whose signature holds.
func (v *Verifier) event(tenant string, body []byte) (webhook.Event, error) {
	const id, kind, merchant, created, resource = 0, 1, 2, 3, 4
	f := [...]jsonfield.Field{
		id:       {Path: "event_id"},
		kind:     {Path: "type"},
		merchant: {Path: "merchant_id"},
		created:  {Path: "created_at"},
		resource: {Path: "data.id"},
	}
	if err := jsonfield.Read(body, f[:]); err != nil {
		return webhook.Event{}, webhook.Refuse(webhook.Malformed, err)
	}
	e := webhook.Event{
		Provider: Provider,
		Tenant:   signed.Tenant(tenant, f[merchant].Value.String()),
		ID:       f[id].Value.String(),
		IDSigned: true,
		Type:     f[kind].Value.String(),
		Resource: f[resource].Value.String(),
		Time:     f[created].Value.Time(),
		Body:     body,
	}
	if e.ID == "" {
		return webhook.Event{}, fmt.Errorf("%w: it has no event_id", webhook.ErrNoEvent)
	}
	if v.maxAge > 0 { // an event without a time is of the year 1
		return e, signed.Recent(e.Time, v.now(), v.maxAge)
	}
	return e, nil
}

// attempt returns the number of the retry, 0 if there is none: it is not signed,
// and no reason to refuse anything.
func attempt(header http.Header) int {
	text, err := signed.Optional(header, retryHeader)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0
	}
	return int(n)
}
