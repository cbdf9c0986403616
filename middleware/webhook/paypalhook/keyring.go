package paypalhook

import (
	"context"
	"crypto/rsa"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/semel-go/semel/middleware/webhook"
)

// Limits of a keyring. Whoever sends deliveries chooses the URLs, within the
// policy, so that everything they can add to is bounded.
const (
	maxKeys     = 16 // certificates that were PayPal's; it uses a few at a time
	maxFailures = 64 // URLs that failed lately
	maxFetches  = 16 // fetches under way
)

// fetchTimeout is how long a fetch may take.
const fetchTimeout = 5 * time.Second

// failureFor is how long a URL that failed is not tried again.
const failureFor = 5 * time.Second

// keyring fetches the keys that certificates' URLs stand for and keeps them
// until they end. Keys and failures are apart, so that no flood of bad URLs can
// push out a good key.
type keyring struct {
	fetch func(context.Context, string) ([]byte, error)
	trust trust
	now   func() time.Time

	mu       sync.Mutex
	keys     map[string]*keptKey
	failures map[string]failure
	flights  map[string]*flight
	uses     uint64 // counted, to know which key was used last
}

// keptKey is a key and when it was used last, as keyring.uses counts.
type keptKey struct {
	signerKey
	used uint64
}

// failure is why a URL has no key, and since when.
type failure struct {
	err error
	at  time.Time
}

// lasts reports whether f still stands at now. A clock that was set back ends it.
func (f failure) lasts(now time.Time) bool {
	age := now.Sub(f.at)
	return age >= 0 && age < failureFor
}

// flight is a fetch under way. key and err are set when done is closed, which is
// before ctx ends unless the fetch is overdue.
type flight struct {
	ctx  context.Context
	done chan struct{}
	key  *rsa.PublicKey
	err  error
}

func newKeyring(fetch func(context.Context, string) ([]byte, error), t trust, now func() time.Time) *keyring {
	return &keyring{
		fetch: fetch, trust: t, now: now,
		keys:     make(map[string]*keptKey),
		failures: make(map[string]failure),
		flights:  make(map[string]*flight),
	}
}

// get returns the key for an allowed URL. Callers that want the same one wait
// for one fetch, each as long as its own ctx lets it.
//
// Errors: those of trust.key; what Fetch refuses; webhook.ErrUnavailable for
// everything else, with the context's error if that ended the wait.
func (k *keyring) get(ctx context.Context, url string) (*rsa.PublicKey, error) {
	key, f, err := k.find(ctx, url)
	if f == nil {
		return key, err
	}
	select {
	case <-f.done:
		return f.key, f.err
	case <-ctx.Done():
		return nil, unavailable(ctx.Err())
	case <-f.ctx.Done():
	}
	select {
	case <-f.done:
		return f.key, f.err
	default:
		return nil, unavailable(f.ctx.Err())
	}
}

// find returns what is known of url, or the fetch that will tell.
func (k *keyring) find(ctx context.Context, url string) (*rsa.PublicKey, *flight, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	if kept := k.keys[url]; kept != nil && kept.goodAt(now) {
		k.uses++
		kept.used = k.uses
		return kept.public, nil, nil
	}
	if f, ok := k.failures[url]; ok && f.lasts(now) {
		return nil, nil, f.err
	}
	if f := k.flights[url]; f != nil {
		return nil, f, nil
	}
	if len(k.flights) == maxFetches {
		return nil, nil, unavailable(errors.New("too many are being fetched"))
	}
	// The fetch is for all that wait, so it does not end with whoever came first.
	shared, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
	f := &flight{ctx: shared, done: make(chan struct{})}
	k.flights[url] = f
	go func() {
		defer cancel()
		k.fly(url, f)
	}()
	return nil, f, nil
}

// fly fetches url and tells what came of it, also if Fetch panics or exits: those
// who wait are not to be left waiting, nor the process to be ended by what one
// delivery caused.
func (k *keyring) fly(url string, f *flight) {
	var key signerKey
	err := unavailable(errors.New("the fetch ended without a result"))
	defer func() {
		if p := recover(); p != nil {
			err = unavailable(fmt.Errorf("the fetch panicked: %v", p))
		}
		k.land(url, f, key, err)
	}()
	file, fetchErr := k.fetch(f.ctx, url)
	switch {
	case errors.Is(fetchErr, webhook.ErrRefused):
		err = fetchErr
	case fetchErr != nil:
		err = unavailable(fetchErr)
	default:
		key, err = k.trust.key(file, k.now())
	}
}

// land ends a fetch.
func (k *keyring) land(url string, f *flight, key signerKey, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if f.err = err; err == nil {
		f.key = key.public
		k.keep(url, key)
	} else {
		k.fail(url, failure{err: err, at: k.now()})
	}
	delete(k.flights, url)
	close(f.done)
}

// keep keeps a key, in the place of the one that was not used for longest.
func (k *keyring) keep(url string, key signerKey) {
	if _, ok := k.keys[url]; !ok && len(k.keys) == maxKeys {
		oldest := ""
		for u, kept := range k.keys {
			if oldest == "" || kept.used < k.keys[oldest].used {
				oldest = u
			}
		}
		delete(k.keys, oldest)
	}
	k.uses++
	k.keys[url] = &keptKey{signerKey: key, used: k.uses}
	delete(k.failures, url)
}

// fail remembers a failure, in the place of those that no longer stand, or of
// any one.
func (k *keyring) fail(url string, f failure) {
	for u, old := range k.failures {
		if !old.lasts(f.at) {
			delete(k.failures, u)
		}
	}
	for u := range k.failures {
		if len(k.failures) < maxFailures {
			break
		}
		delete(k.failures, u)
	}
	k.failures[url] = f
}

// unavailable says that a certificate could not be had just now.
func unavailable(err error) error {
	return fmt.Errorf("%w: the certificate: %w", webhook.ErrUnavailable, err)
}
