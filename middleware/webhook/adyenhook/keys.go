package adyenhook

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/internal/signed"
)

// minKey is the shortest key, in bytes, that is believed to be one of Adyen's,
// which have 32: what was cut off on its way here shall not verify anything.
const minKey = 16

// keys are the secrets of an endpoint, decoded.
type keys [][]byte

// parse decodes secrets. Its error names a secret by its place in the list and
// holds nothing of it.
func parse(secrets webhook.Secrets) (keys, error) {
	var k keys
	var errs []error
	for i, s := range secrets {
		key, err := hex.DecodeString(s)
		switch {
		case err != nil: // the cause would tell a part of it
			errs = append(errs, fmt.Errorf("%w: number %d is not hexadecimal", webhook.ErrSecrets, i+1))
		case len(key) < minKey:
			errs = append(errs, fmt.Errorf("%w: number %d has %d bytes, and must have at least %d", webhook.ErrSecrets, i+1, len(key), minKey))
		}
		k = append(k, key)
	}
	return k, errors.Join(errs...)
}

// signed reports whether one of the keys made the signature over content.
func (k keys) signed(content, signature []byte) bool {
	for _, key := range k {
		if signed.Equal(signed.MAC(sha256.New, key, content), signature) {
			return true
		}
	}
	return false
}
