package signed

import (
	"crypto/hmac"
	"encoding/base64"
	"encoding/hex"
	"hash"
)

// MAC returns the HMAC of parts, one after the other, under key.
func MAC(newHash func() hash.Hash, key []byte, parts ...[]byte) []byte {
	mac := hmac.New(newHash, key)
	for _, p := range parts {
		mac.Write(p)
	}
	return mac.Sum(nil)
}

// Equal reports whether one of the signatures is mac. The time it takes does
// not depend on how much of one is right.
func Equal(mac []byte, signatures ...[]byte) bool {
	for _, s := range signatures {
		if hmac.Equal(mac, s) {
			return true
		}
	}
	return false
}

// Hex decodes exactly size bytes from text, in letters of either case.
func Hex(text string, size int) ([]byte, bool) {
	if len(text) != hex.EncodedLen(size) {
		return nil, false
	}
	b, err := hex.DecodeString(text)
	return b, err == nil
}

// Base64 decodes exactly size bytes from text, in the alphabet of enc, padded
// or not. Unlike enc itself it takes one text for one value: no bits left over,
// no line breaks.
func Base64(enc *base64.Encoding, text string, size int) ([]byte, bool) {
	switch len(text) {
	case base64.StdEncoding.EncodedLen(size):
		enc = enc.WithPadding(base64.StdPadding)
	case base64.RawStdEncoding.EncodedLen(size):
		enc = enc.WithPadding(base64.NoPadding)
	default:
		return nil, false
	}
	b, err := enc.Strict().DecodeString(text)
	return b, err == nil && len(b) == size
}
