package slackhook

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/internal/signed"
)

// Provider is the name in keys and events.
const Provider = "slack"

// Slack's headers in their canonical form.
const (
	signatureHeader = "X-Slack-Signature"
	timestampHeader = "X-Slack-Request-Timestamp"
	retryHeader     = "X-Slack-Retry-Num"
)

// Options says how deliveries are judged. The zero value is safe.
type Options struct {
	// Tolerance is how far the signature's timestamp may be from now, in the
	// past and in the future.
	// Default: 5 min.
	Tolerance time.Duration

	// OncePerMessage names event types, as "message" and "app_mention", of
	// which each message has one event: its id is then not Slack's but the
	// type, the subtype, the channel and the message's ts, so that a second
	// event_id for one message is a duplicate. An event that lacks channel or
	// ts keeps its own. An edit is an event of its own, with its own ts.
	// Default: none.
	OncePerMessage []string

	// Now is the clock.
	// Default: time.Now.
	Now func() time.Time
}

// Verifier verifies Slack's deliveries. It is safe for concurrent use.
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

// New returns a Verifier. The secrets are the signing secrets of the apps that
// Slack delivers for, and the old one as well while one is being replaced.
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
	for _, t := range o.OncePerMessage {
		if t == "" || strings.Contains(t, ":") {
			errs = append(errs, fmt.Errorf("field OncePerMessage: %q is no event type", t))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("slackhook: %w", err)
	}
	v := &Verifier{
		secrets:   secrets,
		tolerance: cmp.Or(o.Tolerance, signed.DefaultTolerance),
		once:      slices.Clone(o.OncePerMessage),
		now:       o.Now,
	}
	if v.now == nil {
		v.now = time.Now
	}
	return v, nil
}

// Provider returns "slack"; [webhook.Verifier].
func (*Verifier) Provider() string { return Provider }

// Policy implements [webhook.Adviser]. Slack waits 3 s and comes back at once,
// so that a duplicate need not wait; its last retry comes after five minutes.
func (*Verifier) Policy() webhook.Policy {
	return webhook.Policy{Patience: 3 * time.Second, Retention: 24 * time.Hour, MaxBody: 1 << 20}
}

// Verify implements [webhook.Verifier]. The delivery holds one event, or passes
// through.
//
// Errors: *webhook.RefusedError: MissingHeader; Malformed for a doubled header, a
// signature or timestamp that cannot be one, and for a signed body that is
// neither JSON nor a form, or has a name twice that counts; NoMatch; Expired, only
// if the signature holds. webhook.ErrNoEvent for a signed body that names no event;
// webhook.ErrUnavailable from a SecretFunc.
func (v *Verifier) Verify(ctx context.Context, header http.Header, body []byte) (webhook.Delivery, error) {
	s, err := readSignature(header)
	if err != nil {
		return webhook.Delivery{}, err
	}
	secrets, tenant, err := v.secrets.SecretsFor(ctx, header, body)
	if err != nil {
		return webhook.Delivery{}, err
	}
	if !s.signs(secrets, body) {
		return webhook.Delivery{}, webhook.Refuse(webhook.NoMatch, nil)
	}
	if err := signed.Fresh(s.at, v.now(), v.tolerance); err != nil {
		return webhook.Delivery{}, err
	}
	d, err := v.read(body)
	if err != nil {
		return webhook.Delivery{}, err
	}
	for i := range d.Events {
		e := &d.Events[i]
		e.Provider, e.IDSigned, e.Attempt = Provider, true, attempt(header)
		e.Tenant = signed.Tenant(tenant, e.Tenant)
	}
	return d, nil
}

// attempt returns the number of the retry. What is not signed is never refused
// for what it says.
func attempt(header http.Header) int {
	n, err := strconv.ParseUint(header.Get(retryHeader), 10, 16)
	if err != nil {
		return 0
	}
	return int(n)
}

// signature is what the headers hold.
type signature struct {
	mac       []byte
	timestamp string
	at        time.Time
}

// readSignature reads the headers that count.
func readSignature(header http.Header) (signature, error) {
	var s signature
	value, err := signed.Header(header, signatureHeader)
	if err != nil {
		return signature{}, err
	}
	text, ok := strings.CutPrefix(value, "v0=")
	if ok {
		s.mac, ok = signed.Hex(text, sha256.Size)
	}
	if !ok {
		return signature{}, webhook.Refuse(webhook.Malformed, errors.New("the signature's header does not hold one"))
	}
	if s.timestamp, err = signed.Header(header, timestampHeader); err != nil {
		return signature{}, err
	}
	s.at, err = signed.Seconds(s.timestamp)
	return s, err
}

// signs reports whether one of the secrets made s of body. The timestamp holds
// digits alone, so that it cannot be cut otherwise.
func (s signature) signs(secrets webhook.Secrets, body []byte) bool {
	head := []byte("v0:" + s.timestamp + ":")
	for _, secret := range secrets {
		if signed.Equal(signed.MAC(sha256.New, []byte(secret), head, body), s.mac) {
			return true
		}
	}
	return false
}
