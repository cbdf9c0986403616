package commandhash

import (
	"crypto/sha256"
	"encoding/base64"
)

// Sum is the hash of a command. It can be compared, and be the key of a map.
type Sum [sha256.Size]byte

// String returns the hash in 43 characters, as URL-safe base64 without padding.
func (s Sum) String() string { return base64.RawURLEncoding.EncodeToString(s[:]) }
