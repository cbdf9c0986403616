package webhooktest

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"net/http"
	"time"
)

// PaddleSigner signs as Paddle Billing does.
type PaddleSigner struct {
	secrets []string
	at      time.Time
}

// Paddle returns a signer for the notification destination with this secret.
// With several it signs as while a secret is being rotated: once with each, in
// their order.
func Paddle(secret string, more ...string) PaddleSigner {
	return PaddleSigner{secrets: append([]string{secret}, more...)}
}

// At returns the signer whose signatures are made at t.
// Default: when Sign is called.
func (s PaddleSigner) At(t time.Time) PaddleSigner {
	s.at = t
	return s
}

// Sign signs body and makes it the body of req.
func (s PaddleSigner) Sign(req *http.Request, body []byte) {
	setBody(req, body)
	at := or(s.at).Unix()
	value := fmt.Sprintf("ts=%d", at)
	for _, secret := range s.secrets {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(fmt.Appendf(nil, "%d:%s", at, body))
		value += fmt.Sprintf(";h1=%x", mac.Sum(nil))
	}
	req.Header.Set("Paddle-Signature", value)
}
