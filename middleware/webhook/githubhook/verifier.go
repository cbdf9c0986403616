package githubhook

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/internal/signed"
)

// Provider is the name in keys and events.
const Provider = "github"

// GitHub's headers in their canonical form.
const (
	signatureHeader = "X-Hub-Signature-256"
	idHeader        = "X-Github-Delivery"
	hookHeader      = "X-Github-Hook-Id"
	eventHeader     = "X-Github-Event"
)

// maxBody is what GitHub sends at most; what is larger it drops.
const maxBody = 25 << 20

// Options says how deliveries are judged. There is nothing to say yet: GitHub
// signs no time.
type Options struct{}

// Verifier verifies GitHub's deliveries. It is safe for concurrent use.
type Verifier struct {
	secrets webhook.SecretSource
}

var (
	_ webhook.Verifier = (*Verifier)(nil)
	_ webhook.Adviser  = (*Verifier)(nil)
)

// New returns a Verifier. The secrets are those that were entered for the hooks
// that deliver here, and the old one as well while one is being replaced.
//
// Errors: webhook.ErrSecrets, wrapped.
func New(secrets webhook.SecretSource, _ Options) (*Verifier, error) {
	if err := signed.Secrets(secrets); err != nil {
		return nil, fmt.Errorf("githubhook: %w", err)
	}
	return &Verifier{secrets: secrets}, nil
}

// Provider returns "github"; [webhook.Verifier].
func (*Verifier) Provider() string { return Provider }

// Policy implements [webhook.Adviser]. GitHub waits 10 s and does not deliver
// again, so that a duplicate waits for what is running. People can redeliver for
// 3 days.
func (*Verifier) Policy() webhook.Policy {
	const patience = 10 * time.Second
	return webhook.Policy{Wait: patience / 2, Patience: patience, Retention: 7 * 24 * time.Hour, MaxBody: maxBody}
}

// Verify implements [webhook.Verifier]. The delivery holds one event.
//
// Errors: *webhook.RefusedError: MissingHeader; Malformed for a doubled header, a
// signature that cannot be one, and for a signed body that is a form with other
// than one payload, or has a name twice that counts; NoMatch.
// webhook.ErrUnavailable from a SecretFunc.
func (v *Verifier) Verify(ctx context.Context, header http.Header, body []byte) (webhook.Delivery, error) {
	signature, err := readSignature(header)
	if err != nil {
		return webhook.Delivery{}, err
	}
	e, err := readHeader(header)
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
	e.Tenant = signed.Tenant(tenant, e.Tenant)
	if err := readBody(&e, body); err != nil {
		return webhook.Delivery{}, err
	}
	return webhook.Delivery{Events: []webhook.Event{e}}, nil
}

// readSignature returns the signature that header holds.
func readSignature(header http.Header) ([]byte, error) {
	value, err := signed.Header(header, signatureHeader)
	if err != nil {
		return nil, err
	}
	text, ok := strings.CutPrefix(value, "sha256=")
	if ok {
		if mac, ok := signed.Hex(text, sha256.Size); ok {
			return mac, nil
		}
	}
	return nil, webhook.Refuse(webhook.Malformed, errors.New("the signature's header does not hold one"))
}

// readHeader returns the event as far as the other headers tell.
func readHeader(header http.Header) (webhook.Event, error) {
	e := webhook.Event{Provider: Provider}
	var err error
	if e.ID, err = signed.Header(header, idHeader); err != nil {
		return webhook.Event{}, err
	}
	if e.Type, err = signed.Header(header, eventHeader); err != nil {
		return webhook.Event{}, err
	}
	e.Tenant, err = signed.Optional(header, hookHeader)
	return e, err
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
