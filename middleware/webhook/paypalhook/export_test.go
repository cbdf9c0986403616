package paypalhook

import (
	"context"
	"crypto/x509"
	"net"
)

// DefaultFetch is what Options.Fetch is by default, but that it opens its
// connections with dial, and believes servers below roots. What may be fetched is
// decided before it is asked.
func DefaultFetch(dial func(ctx context.Context, network, addr string) (net.Conn, error), roots *x509.CertPool) func(context.Context, string) ([]byte, error) {
	return newFetcher(dial, roots)
}

// Held returns how many keys, failures and fetches v holds.
func (v *Verifier) Held() (keys, failures, flights int) {
	v.keys.mu.Lock()
	defer v.keys.mu.Unlock()
	return len(v.keys.keys), len(v.keys.failures), len(v.keys.flights)
}
