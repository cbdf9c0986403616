package webhooktest

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"net/http"
	"time"
)

// StripeSigner signs as Stripe does.
type StripeSigner struct {
	secret string
	at     time.Time
}

// Stripe returns a signer for the endpoint with this secret.
func Stripe(secret string) StripeSigner { return StripeSigner{secret: secret} }

// At returns the signer whose signatures are made at t.
// Default: when Sign is called.
func (s StripeSigner) At(t time.Time) StripeSigner {
	s.at = t
	return s
}

// Sign signs body and makes it the body of req.
func (s StripeSigner) Sign(req *http.Request, body []byte) {
	setBody(req, body)
	at := or(s.at).Unix()
	mac := hmac.New(sha256.New, []byte(s.secret))
	mac.Write(fmt.Appendf(nil, "%d.%s", at, body))
	req.Header.Set("Stripe-Signature", fmt.Sprintf("t=%d,v1=%x", at, mac.Sum(nil)))
}
