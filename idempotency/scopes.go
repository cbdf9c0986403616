package idempotency

import (
	"hash/maphash"
	"sync/atomic"
)

// scopes remembers the digests of scopes: a program has few of them, and to
// compute one takes as long as to find a record in the local cache.
type scopes struct {
	seed  maphash.Seed
	known [64]atomic.Pointer[knownScope]
}

// knownScope is never changed.
type knownScope struct {
	scope  string
	digest [scopeBytes]byte
}

// maxKnownScope is the longest scope that is remembered, in bytes.
const maxKnownScope = 256

func newScopes() *scopes { return &scopes{seed: maphash.MakeSeed()} }

// digest is k.Digest.
func (s *scopes) digest(k Key) (Digest, error) {
	if k.Scope == "" || len(k.Scope) > maxKnownScope {
		return k.Digest()
	}
	at := &s.known[maphash.String(s.seed, k.Scope)%uint64(len(s.known))]
	known := at.Load()
	if known == nil || known.scope != k.Scope {
		known = &knownScope{scope: k.Scope}
		copy(known.digest[:], ScopeDigest(k.Scope))
		at.Store(known)
	}
	return k.digest(known.digest[:])
}
