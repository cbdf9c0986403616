package observe

import (
	"crypto/sha256"
	"encoding/hex"
)

// digestBytes is how much of the SHA-256 a digest keeps: enough that two keys
// of one system do not meet by chance (64 bits), short enough to read.
const digestBytes = 8

// Digest returns a short name for the event's key that is the same in every
// process and tells nothing of the key to those who cannot guess it: the first
// 16 hex digits of its SHA-256. A key that is a digest already is returned as it
// is. It is "" for an event without a key.
func (e Event) Digest() string {
	if e.Key == "" || e.Digested {
		return e.Key
	}
	sum := sha256.Sum256([]byte(e.Key))
	return hex.EncodeToString(sum[:digestBytes])
}
