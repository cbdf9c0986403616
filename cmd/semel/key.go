package main

import (
	"encoding/base64"
	"encoding/hex"
	"flag"

	"github.com/semel-go/semel/idempotency"
)

// keyFlags name a key.
type keyFlags struct {
	scopeFlags
	id string
}

func (f *keyFlags) flags(fs *flag.FlagSet) {
	f.scopeFlags.flags(fs)
	fs.StringVar(&f.id, "id", "", "the key's `id` in its scope")
}

// take returns the key that the flags or the first argument name, and the other
// arguments, of which there may be more.
func (f *keyFlags) take(args []string, more int) (idempotency.Digest, []string, error) {
	scope, err := f.name()
	if err != nil {
		return idempotency.Digest{}, nil, err
	}
	var key idempotency.Digest
	if scope != "" || f.id != "" {
		if scope == "" || f.id == "" {
			return key, nil, usage("a key needs both a scope and -id")
		}
		key, err = idempotency.Key{Scope: scope, ID: f.id}.Digest()
	} else {
		if len(args) == 0 {
			return key, nil, usage("which KEY? Give a digest, or -scope and -id")
		}
		key, err = idempotency.ParseDigest(args[0])
		args = args[1:]
	}
	switch {
	case err != nil:
		return key, nil, usage("%w", err)
	case len(args) > more:
		return key, nil, usage("too many arguments: %q", args[more:])
	}
	return key, args, nil
}

// parseNonce reads a nonce as show prints it.
func parseNonce(text string) (idempotency.Nonce, error) {
	var n idempotency.Nonce
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != len(n) {
		return n, usage("%q is not a nonce: show prints it", text)
	}
	copy(n[:], b)
	return n, nil
}

// scopeOf returns the part of a digest that tells its scope.
func scopeOf(key idempotency.Digest) string {
	n := len(idempotency.ScopeDigest(""))
	return base64.RawURLEncoding.EncodeToString(key[:n])
}

// parseScopeDigest reads what scopeOf wrote.
func parseScopeDigest(text string) ([]byte, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) != len(idempotency.ScopeDigest("")) {
		return nil, usage("%q is not a scope's digest: stats prints it", text)
	}
	return b, nil
}
