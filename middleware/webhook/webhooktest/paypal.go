package webhooktest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash/crc32"
	"net/http"
	"testing"
	"time"

	"github.com/semel-go/semel/middleware/webhook/paypalhook"
)

// PayPal signs as PayPal does, with certificates of its own.
//
//	paypal := webhooktest.NewPayPal(t)
//	verifier, err := paypalhook.New(paypal.WebhookID(), paypal.Options())
//	paypal.Sign(req, body)
type PayPal struct {
	authority *authority
	env       paypalhook.Env
	webhookID string
	id        string
	at        time.Time
	fault     string // of the certificate; "" if it has none
}

// NewPayPal returns a PayPal of the live environment. It makes a key of its own,
// which takes a moment: share it among tests.
func NewPayPal(tb testing.TB) *PayPal {
	tb.Helper()
	a, err := newAuthority()
	if err != nil {
		tb.Fatalf("webhooktest: NewPayPal: %v", err)
	}
	return &PayPal{authority: a, webhookID: "1JE4291016473214C"}
}

// WebhookID returns the id of the webhook that deliveries are signed for.
func (p *PayPal) WebhookID() string { return p.webhookID }

// Options returns what makes a Verifier believe p, and nobody else: its root, its
// environment, and a Fetch that asks p. Set the rest as you like.
func (p *PayPal) Options() paypalhook.Options {
	return paypalhook.Options{Env: p.env, Roots: p.authority.roots, Fetch: p.authority.fetch}
}

// Fetches returns how often a certificate was fetched from p or any copy of it.
func (p *PayPal) Fetches() int { return int(p.authority.fetches.Load()) }

// At returns the PayPal whose transmissions are made at t.
// Default: when Sign is called.
func (p *PayPal) At(t time.Time) *PayPal {
	c := *p
	c.at = t
	return &c
}

// ID returns the PayPal whose deliveries have this transmission id.
// Default: one made of the body.
func (p *PayPal) ID(transmission string) *PayPal {
	c := *p
	c.id = transmission
	return &c
}

// For returns the PayPal that signs for the webhook with this id.
func (p *PayPal) For(webhookID string) *PayPal {
	c := *p
	c.webhookID = webhookID
	return &c
}

// Sandbox returns the PayPal of the sandbox.
func (p *PayPal) Sandbox() *PayPal {
	c := *p
	c.env = paypalhook.Sandbox
	return &c
}

// WrongName returns a PayPal whose certificate is made out to somebody else.
func (p *PayPal) WrongName() *PayPal { return p.with(wrongName) }

// WrongRoot returns a PayPal whose certificate was issued below another root.
func (p *PayPal) WrongRoot() *PayPal { return p.with(wrongRoot) }

// Expired returns a PayPal whose certificate has expired.
func (p *PayPal) Expired() *PayPal { return p.with(expired) }

// with returns the PayPal whose certificate has this fault.
func (p *PayPal) with(fault string) *PayPal {
	c := *p
	c.fault = fault
	return &c
}

// Sign signs body and makes it the body of req.
func (p *PayPal) Sign(req *http.Request, body []byte) {
	setBody(req, body)
	id := p.id
	if id == "" {
		sum := sha256.Sum256(body)
		id = fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
	}
	at := or(p.at).UTC().Format(time.RFC3339)
	digest := sha256.Sum256(fmt.Appendf(nil, "%s|%s|%s|%d", id, at, p.webhookID, crc32.ChecksumIEEE(body)))
	signature, err := rsa.SignPKCS1v15(rand.Reader, p.authority.key, crypto.SHA256, digest[:])
	if err != nil {
		panic("webhooktest: PayPal: " + err.Error()) // a digest of 32 bytes always fits
	}
	req.Header.Set("PAYPAL-TRANSMISSION-ID", id)
	req.Header.Set("PAYPAL-TRANSMISSION-TIME", at)
	req.Header.Set("PAYPAL-TRANSMISSION-SIG", base64.StdEncoding.EncodeToString(signature))
	req.Header.Set("PAYPAL-CERT-URL", certificateURL(p.env, p.fault))
	req.Header.Set("PAYPAL-AUTH-ALGO", "SHA256withRSA")
	req.Header.Set("PAYPAL-AUTH-VERSION", "v2")
}
