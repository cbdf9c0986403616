package standardhook

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/semel-go/semel/middleware/webhook"
)

// What a secret begins with.
const (
	symmetric = "whsec_"
	public    = "whpk_"
	private   = "whsk_"
)

// A shared secret is as long as the specification says, in bytes.
const (
	minSecret = 24
	maxSecret = 64
)

// keys are the secrets of an endpoint, decoded.
type keys struct {
	shared [][]byte
	public []ed25519.PublicKey
}

// parse decodes secrets. Its error names a secret by its place in the list and
// holds nothing of it.
func parse(secrets webhook.Secrets) (keys, error) {
	var k keys
	var errs []error
	for i, s := range secrets {
		if err := k.add(s); err != nil {
			errs = append(errs, fmt.Errorf("%w: number %d %w", webhook.ErrSecrets, i+1, err))
		}
	}
	return k, errors.Join(errs...)
}

// add decodes one secret. Some senders show it as it would stand in a list of
// signatures, with the version before it.
func (k *keys) add(secret string) error {
	secret = strings.TrimPrefix(strings.TrimPrefix(secret, "v1,"), "v1a,")
	if text, ok := strings.CutPrefix(secret, symmetric); ok {
		key, err := decode(text)
		if err == nil && (len(key) < minSecret || len(key) > maxSecret) {
			err = fmt.Errorf("has %d bytes, and must have %d to %d", len(key), minSecret, maxSecret)
		}
		k.shared = append(k.shared, key)
		return err
	}
	if text, ok := strings.CutPrefix(secret, public); ok {
		key, err := decode(text)
		if err == nil && len(key) != ed25519.PublicKeySize {
			err = fmt.Errorf("has %d bytes, and a public key has %d", len(key), ed25519.PublicKeySize)
		}
		k.public = append(k.public, key)
		return err
	}
	if strings.HasPrefix(secret, private) {
		return errors.New("is a private key, which belongs to the sender alone: the public one begins with " + public)
	}
	return fmt.Errorf("begins with neither %s nor %s", symmetric, public)
}

// decode decodes base64, padded or not.
func decode(text string) ([]byte, error) {
	b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil {
		return nil, errors.New("is not base64") // the cause would tell a part of it
	}
	return b, nil
}
