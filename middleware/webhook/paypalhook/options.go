package paypalhook

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/semel-go/semel/middleware/webhook"
)

// DefaultMaxAge is the default of Options.MaxAge: three days of PayPal's retries
// and one of slack.
const DefaultMaxAge = 4 * 24 * time.Hour

// Env is one of PayPal's environments. A Verifier of one refuses the other's
// deliveries.
type Env int

// PayPal's environments.
const (
	// Live is where money moves.
	Live Env = iota
	// Sandbox is for trying out: anybody can have it sign anything.
	Sandbox
)

// environment is where an Env keeps its certificates and whom it makes them out
// to.
type environment struct {
	hosts  [2]string
	signer string
}

// environment returns what e means; false if it is none.
func (e Env) environment() (environment, bool) {
	switch e {
	case Live:
		return environment{
			hosts:  [2]string{"api.paypal.com", "api-m.paypal.com"},
			signer: "messageverificationcerts.paypal.com",
		}, true
	case Sandbox:
		return environment{
			hosts:  [2]string{"api.sandbox.paypal.com", "api-m.sandbox.paypal.com"},
			signer: "messageverificationcerts.sandbox.paypal.com",
		}, true
	}
	return environment{}, false
}

// Options says how deliveries are judged. The zero value is safe.
type Options struct {
	// Env is the environment whose deliveries are taken.
	// Default: Live.
	Env Env

	// MaxAge is how long after its transmission time a delivery is believed,
	// which is also how long its binding is kept in the store. A delivery that
	// somebody has PayPal resend later than that is refused, unless it is signed
	// anew.
	// Default: 4 days.
	MaxAge time.Duration

	// Roots are the certificate authorities that may have issued PayPal's
	// certificate.
	// Default: the system's.
	Roots *x509.CertPool

	// Intermediates complete the chain where PayPal sends its certificate alone.
	// They are not trusted by being here.
	// Default: three of DigiCert, which issues PayPal's certificates.
	Intermediates *x509.CertPool

	// Fetch returns what is at a certificate's URL, for those who reach PayPal
	// through a proxy or keep its certificates. It is called with URLs that
	// passed the policy, once at a time for each, and its context ends after
	// 5 s, but not with the request's. More than 64 KiB are not looked at. An
	// error is answered so that PayPal tries again, unless it is a
	// *[webhook.RefusedError].
	// Default: a GET without proxy and redirects, over TLS 1.2 or later. A
	// redirect, or the status 400, 404 or 410, refuses the delivery.
	Fetch func(ctx context.Context, url string) ([]byte, error)

	// Reread returns the event e.ID as PayPal's API has it, from GET
	// /v1/notifications/webhooks-events/{id}; ids are letters, digits, dashes
	// and underscores. All that the delivery says must be in it: the same names
	// with the same values, in any order, numbers as they are written. What the
	// API adds beside them does not matter, as long as the delivery leaves out
	// neither the event's type and time nor its resource. A delivery that says
	// something else is refused as forged; the handler gets the body as it was
	// delivered.
	//
	// Any error is answered so that PayPal tries again: right after a delivery
	// the API may not have the event yet. It is called for each delivery,
	// duplicates included, with the request's context.
	// Default: nothing is read.
	Reread func(ctx context.Context, e webhook.Event) ([]byte, error)

	// Now is the clock.
	// Default: time.Now.
	Now func() time.Time
}

// ErrWebhookID: the webhook's id is empty, as an environment variable that is
// not set, or none that PayPal gives.
var ErrWebhookID = errors.New("paypalhook: invalid webhook id")

// simulated is the webhook id in what the simulator signs.
const simulated = "WEBHOOK_ID"

// maxMaxAge is as long as anybody can have PayPal resend, and more. A binding
// must be kept for as long.
const maxMaxAge = 90 * 24 * time.Hour

// maxWebhookID is generous: PayPal's ids have 17 characters.
const maxWebhookID = 64

// validate reports all that is wrong with o and the webhook's id.
func (o Options) validate(webhookID string) error {
	var errs []error
	switch {
	case webhookID == "":
		errs = append(errs, fmt.Errorf("%w: it is empty", ErrWebhookID))
	case !plain(webhookID, "") || len(webhookID) > maxWebhookID:
		errs = append(errs, fmt.Errorf("%w: %.64q", ErrWebhookID, webhookID))
	case webhookID == simulated && o.Env != Sandbox:
		errs = append(errs, fmt.Errorf("%w: %s is the simulator's, which anybody can use", ErrWebhookID, simulated))
	}
	if _, ok := o.Env.environment(); !ok {
		errs = append(errs, fmt.Errorf("paypalhook: field Env: %d is none", o.Env))
	}
	if o.MaxAge < 0 || o.MaxAge > maxMaxAge {
		errs = append(errs, fmt.Errorf("paypalhook: field MaxAge: %s is not between 0 and %s", o.MaxAge, maxMaxAge))
	}
	return errors.Join(errs...)
}

// plain reports whether text holds nothing but letters, digits, dashes and
// underscores, so that it means itself in what is signed and in a URL, and the
// characters in also.
func plain(text, also string) bool {
	for _, c := range []byte(text) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' &&
			strings.IndexByte(also, c) < 0 {
			return false
		}
	}
	return true
}
