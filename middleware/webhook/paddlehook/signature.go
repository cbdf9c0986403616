package paddlehook

import (
	"crypto/sha256"
	"errors"
	"strings"
	"time"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/internal/signed"
)

// maxSignatures bounds the list: a rotation has two.
const maxSignatures = 16

// What is wrong with a header.
var (
	errHeader     = errors.New("the header is not of the form ts=...;h1=")
	errSignatures = errors.New("more than 16 signatures")
)

// signature is what Paddle-Signature says.
type signature struct {
	timestamp string // as it is signed
	at        time.Time
	macs      [][]byte
}

// parse reads a header "ts=...;h1=...", with any number of h1. Parts of other
// schemes are skipped, and so is an h1 that cannot be one.
func parse(value string) (signature, error) {
	var s signature
	n := 0
	for part := range strings.SplitSeq(value, ";") {
		name, text, ok := strings.Cut(part, "=")
		switch {
		case !ok, name == "ts" && s.timestamp != "":
			return signature{}, webhook.Refuse(webhook.Malformed, errHeader)
		case name == "ts":
			at, err := signed.Seconds(text)
			if err != nil {
				return signature{}, err
			}
			s.timestamp, s.at = text, at
		case name == "h1":
			if n++; n > maxSignatures {
				return signature{}, webhook.Refuse(webhook.Malformed, errSignatures)
			}
			if mac, ok := signed.Hex(text, sha256.Size); ok {
				s.macs = append(s.macs, mac)
			}
		}
	}
	if s.timestamp == "" {
		return signature{}, webhook.Refuse(webhook.Malformed, errHeader)
	}
	return s, nil
}

// signedBy reports whether one of the secrets made one of the signatures. What
// is signed can be cut in one way only: there is no colon in a timestamp.
func (s signature) signedBy(secrets webhook.Secrets, body []byte) bool {
	head := []byte(s.timestamp + ":")
	for _, secret := range secrets {
		if signed.Equal(signed.MAC(sha256.New, []byte(secret), head, body), s.macs...) {
			return true
		}
	}
	return false
}
