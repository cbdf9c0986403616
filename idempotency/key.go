package idempotency

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Key names what is to happen once: an ID that is unique within a Scope. Both
// are any bytes; neither may be empty. They are length-delimited before they
// are digested, so that ("ab", "c") and ("a", "bc") are different keys.
type Key struct {
	// Scope is the kind of thing and whose it is, for example a layer, a
	// provider and a tenant. [Scope] joins several parts without ambiguity.
	Scope string
	// ID is the thing's identity in that scope.
	ID string
}

// scopeBytes is how much of a Digest tells the scope alone.
const scopeBytes = 8

// Digest is a key as the store sees it: 8 bytes of the scope's SHA-256, so
// that one scope can be listed, and 24 bytes of that of scope and id together
// (a 192-bit digest: to find two keys that meet takes some 2^96 tries).
type Digest [32]byte

// String returns the digest in base64 (RFC 4648, section 5, unpadded).
func (d Digest) String() string { return base64.RawURLEncoding.EncodeToString(d[:]) }

// ParseDigest reads what String wrote.
func ParseDigest(s string) (Digest, error) {
	var d Digest
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(b) != len(d) {
		return d, fmt.Errorf("%w: digest %q", ErrInvalid, s)
	}
	copy(d[:], b)
	return d, nil
}

// Digest returns the key's digest.
func (k Key) Digest() (Digest, error) {
	return k.digest(ScopeDigest(k.Scope))
}

// digest is Digest, where scope is the scope's own.
func (k Key) digest(scope []byte) (Digest, error) {
	var d Digest
	if k.Scope == "" || k.ID == "" {
		return d, fmt.Errorf("%w: Key has an empty Scope or ID", ErrInvalid)
	}
	copy(d[:scopeBytes], scope)
	sum := digest("semel key 1", k.Scope, k.ID)
	copy(d[scopeBytes:], sum[:])
	return d, nil
}

// ScopeDigest returns the bytes with which the digests of a scope's keys
// begin.
func ScopeDigest(scope string) []byte {
	sum := digest("semel scope 1", scope)
	return sum[:scopeBytes]
}

// digest is the SHA-256 of parts, each after its length.
func digest(parts ...string) [sha256.Size]byte {
	var room [256]byte // enough for most, so that nothing is allocated
	text := room[:0]
	for _, p := range parts {
		text = binary.BigEndian.AppendUint64(text, uint64(len(p)))
		text = append(text, p...)
	}
	return sha256.Sum256(text)
}

// FingerprintOf digests what a key was used for: parts, each after its length.
func FingerprintOf(parts ...[]byte) Fingerprint {
	h := sha256.New()
	var size [8]byte
	_, _ = io.WriteString(h, "semel fingerprint 1")
	for _, p := range parts {
		binary.BigEndian.PutUint64(size[:], uint64(len(p)))
		h.Write(size[:])
		h.Write(p)
	}
	var f Fingerprint
	h.Sum(f[:0])
	return f
}

// Scope joins parts to one scope so that different parts never make the same
// one.
func Scope(parts ...string) string {
	var room [128]byte // enough for most
	b := room[:0]
	for _, p := range parts {
		b = binary.AppendUvarint(b, uint64(len(p)))
		b = append(b, p...)
	}
	return string(b)
}

// ErrInvalid: an argument or an option is out of its range; the text names it.
// Nothing was sent.
var ErrInvalid = errors.New("idempotency: invalid argument")
