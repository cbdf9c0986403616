package idempotency

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
)

// Encryption says with which keys results are encrypted (AES-256-GCM). The zero
// value encrypts nothing, and then no encrypted record is read.
//
// A result is bound to its key and to the record it was sealed in: moved to
// another key, or with another fingerprint, fence, attempt or time beside it,
// it does not open, and a duplicate gets ErrResultUnavailable. What whoever can
// write to the store can still do is to delete a record, or to put an old one
// of the same key back. How long a result is, which key sealed it and all of
// the record's header remain visible.
//
// To change keys, first give every process the new key among Keys, then make it
// Current everywhere, and drop the old one when the retention is over. Do it
// before a key has sealed 2^32 results, the limit of AES-GCM with random
// nonces: two months at 800 a second.
type Encryption struct {
	// Current is the id of the key that seals. Ids are visible in the record:
	// from 1 to 16 bytes. Empty with Keys and AllowPlain set, it seals in
	// plain and still opens what was encrypted: the way back.
	// Default: none, nothing is encrypted.
	Current string

	// Keys are the keys that open, by id, Current among them: 32 random bytes
	// each. They are copied.
	// Default: none.
	Keys Keyring

	// AllowPlain also opens records that are not encrypted, for the time in
	// which encryption is introduced. While it is set, whoever can write to
	// the store can put a result there that nobody produced.
	// Default: false; such a record answers ErrResultUnavailable.
	AllowPlain bool
}

// Limits of an Encryption.
const (
	keySize  = 32
	maxKeyID = 16
)

// aeads checks e and returns its keys, ready for use.
func (e Encryption) aeads() (map[string]cipher.AEAD, error) {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: Options.Encryption.%w", ErrInvalid, fmt.Errorf(format, args...)))
	}
	keys := make(map[string]cipher.AEAD, len(e.Keys))
	for _, id := range slices.Sorted(maps.Keys(e.Keys)) {
		secret := e.Keys[id]
		if len(id) == 0 || len(id) > maxKeyID {
			bad("Keys has the id %q, must be from 1 to %d bytes long", id, maxKeyID)
			continue
		}
		if len(secret) != keySize {
			bad("Keys[%q] has %d bytes, must have %d", id, len(secret), keySize)
			continue
		}
		if [keySize]byte(secret) == [keySize]byte{} {
			bad("Keys[%q] is all zero", id)
			continue
		}
		aead, err := newAEAD(secret)
		if err != nil {
			bad("Keys[%q]: %w", id, err)
			continue
		}
		keys[id] = aead
	}
	switch {
	case e.Current != "" && e.Keys[e.Current] == nil:
		bad("Current is %q, which Keys does not hold", e.Current)
	case e.Current == "" && len(e.Keys) > 0 && !e.AllowPlain:
		bad("Current is empty, must name one of Keys (or AllowPlain be set)")
	case e.AllowPlain && len(e.Keys) == 0:
		bad("AllowPlain is set, but Keys is empty")
	}
	return keys, errors.Join(errs...)
}

// newAEAD returns AES-256-GCM that draws a random nonce for each Seal and puts
// it in front.
func newAEAD(secret []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// Keyring holds keys by id. However it is printed, logged or encoded, only their
// number is shown.
type Keyring map[string][]byte

// String returns how many keys there are.
func (k Keyring) String() string {
	if len(k) == 1 {
		return "1 key"
	}
	return fmt.Sprintf("%d keys", len(k))
}

// GoString is String.
func (k Keyring) GoString() string { return k.String() }

// Format prints String, whatever the verb.
func (k Keyring) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(k.String())) }

// LogValue is String.
func (k Keyring) LogValue() slog.Value { return slog.StringValue(k.String()) }

// MarshalText is String.
func (k Keyring) MarshalText() ([]byte, error) { return []byte(k.String()), nil }
