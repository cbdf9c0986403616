package webhooktest

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// StandardSigner signs in the format of Standard Webhooks.
type StandardSigner struct {
	family string // of headers
	sign   func(content []byte) string
	at     time.Time
	id     string
}

// Standard returns a signer with the secret, whsec_ and base64, for the headers
// webhook-id and so on. It panics if the secret is not base64.
func Standard(secret string) StandardSigner {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		panic("webhooktest: Standard: the secret is not base64")
	}
	return StandardSigner{family: "webhook", sign: func(content []byte) string {
		mac := hmac.New(sha256.New, key)
		mac.Write(content)
		return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}}
}

// Svix is Standard with the headers svix-id and so on.
func Svix(secret string) StandardSigner {
	s := Standard(secret)
	s.family = "svix"
	return s
}

// StandardKey returns a signer with an ed25519 key, for version v1a. The secret
// that verifies is [PublicKey].
func StandardKey(private ed25519.PrivateKey) StandardSigner {
	return StandardSigner{family: "webhook", sign: func(content []byte) string {
		return "v1a," + base64.StdEncoding.EncodeToString(ed25519.Sign(private, content))
	}}
}

// PublicKey returns the secret, whpk_ and base64, that verifies what private
// signs.
func PublicKey(private ed25519.PrivateKey) string {
	public := private[ed25519.SeedSize:] // what follows the seed (RFC 8032)
	return "whpk_" + base64.StdEncoding.EncodeToString(public)
}

// At returns the signer whose signatures are made at t.
// Default: when Sign is called.
func (s StandardSigner) At(t time.Time) StandardSigner {
	s.at = t
	return s
}

// ID returns the signer whose deliveries have this id.
// Default: one made of the body.
func (s StandardSigner) ID(id string) StandardSigner {
	s.id = id
	return s
}

// Sign signs body and makes it the body of req.
func (s StandardSigner) Sign(req *http.Request, body []byte) {
	setBody(req, body)
	id := s.id
	if id == "" {
		id = fmt.Sprintf("msg_%x", sha256.Sum256(body))[:28]
	}
	at := fmt.Sprint(or(s.at).Unix())
	req.Header.Set(s.family+"-id", id)
	req.Header.Set(s.family+"-timestamp", at)
	req.Header.Set(s.family+"-signature", s.sign([]byte(id+"."+at+"."+string(body))))
}
