package standardhook

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"slices"
	"strings"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/internal/signed"
)

// maxSignatures bounds the list: a sender that rotates sends two or three, and
// each of ed25519 costs whoever has to check it.
const maxSignatures = 16

// errSignatures is a list that is longer.
var errSignatures = errors.New("more than 16 signatures")

// signatures are those of a list that may count.
type signatures struct {
	v1, v1a [][]byte
}

// parseSignatures reads a list of "version,base64", separated by spaces. What
// is of another version, or cannot be the signature of its own, is skipped.
func parseSignatures(list string) (signatures, error) {
	var s signatures
	n := 0
	for item := range strings.SplitSeq(list, " ") {
		if item == "" {
			continue
		}
		if n++; n > maxSignatures {
			return signatures{}, webhook.Refuse(webhook.Malformed, errSignatures)
		}
		switch version, text, _ := strings.Cut(item, ","); version {
		case "v1":
			if b, ok := signed.Base64(base64.StdEncoding, text, sha256.Size); ok {
				s.v1 = append(s.v1, b)
			}
		case "v1a":
			if b, ok := signed.Base64(base64.StdEncoding, text, ed25519.SignatureSize); ok {
				s.v1a = append(s.v1a, b)
			}
		}
	}
	return s, nil
}

// signedBy reports whether one of the keys made one of the signatures over what
// head, "id.timestamp.", and body are together.
func (s signatures) signedBy(k keys, head, body []byte) bool {
	if len(s.v1) > 0 {
		for _, key := range k.shared {
			if signed.Equal(signed.MAC(sha256.New, key, head, body), s.v1...) {
				return true
			}
		}
	}
	if len(s.v1a) == 0 || len(k.public) == 0 {
		return false
	}
	content := slices.Concat(head, body)
	for _, key := range k.public {
		for _, b := range s.v1a {
			if ed25519.Verify(key, content, b) {
				return true
			}
		}
	}
	return false
}
