package locktest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-go/semel/lock"
)

const (
	// long is a TTL that does not end during a law, however slow the machine.
	long = 10 * time.Minute
	// patience is how long a law waits for what has to come.
	patience = 20 * time.Second
)

// probe is one law's hold on the store under test.
type probe struct {
	*testing.T
	store    Store
	backend  lock.Backend
	features Features
	// short is a TTL that a law waits for the end of.
	short    time.Duration
	advanced time.Duration
	nonces   atomic.Uint64
}

func newProbe(t *testing.T, h Harness) *probe {
	t.Helper()
	s := h.New(t)
	if s.Backend == nil {
		t.Fatal("locktest: Harness.New returned a Store without a Backend")
	}
	return &probe{
		T: t, store: s, backend: s.Backend, features: h.Features,
		short: max(250*time.Millisecond, h.Features.MinTTL),
	}
}

// nonce returns a nonce that no other call returns.
func (p *probe) nonce() string { return fmt.Sprintf("nonce%021d", p.nonces.Add(1)) }

// ctx returns a context that ends when the law has waited long enough.
func (p *probe) ctx() context.Context {
	ctx, cancel := context.WithTimeout(p.Context(), patience)
	p.Cleanup(cancel)
	return ctx
}

// moment is an instant by which a law measures how far the store's clock is.
type moment struct {
	at       time.Time
	advanced time.Duration
}

func (p *probe) now() moment { return moment{time.Now(), p.advanced} }

// within reports whether less than d has certainly passed on the store's clock
// since m. Only then may a law insist that something has not ended yet.
func (p *probe) within(m moment, d time.Duration) bool {
	passed := time.Since(m.at)
	switch {
	case p.features.FrozenClock:
		passed = p.advanced - m.advanced
	case p.store.Advance != nil:
		passed += p.advanced - m.advanced
	}
	return passed < d
}

// advance lets d pass on the store's clock.
func (p *probe) advance(d time.Duration) {
	if p.store.Advance == nil {
		time.Sleep(d)
	} else {
		p.store.Advance(d)
	}
	p.advanced += d
}

// outlast lets so much time pass that what was armed with ttl has ended.
func (p *probe) outlast(ttl time.Duration) {
	p.advance(ttl + p.features.Granularity + 5*time.Millisecond)
}

// acquire asks for one fence.
func (p *probe) acquire(key, nonce string, ttl time.Duration) (lock.Grant, error) {
	return p.backend.Acquire(p.ctx(), lock.Request{Key: key, Nonce: nonce, TTL: ttl, Block: 1})
}

// take acquires and insists on it.
func (p *probe) take(key, nonce string, ttl time.Duration) lock.Grant {
	p.Helper()
	return p.reserve(key, nonce, ttl, 1)
}

// alive acquires a key for short and does step while that lease is alive. If
// step fails on a machine so slow that the lease may have ended, it starts over
// with another key.
func (p *probe) alive(step func(key, nonce string) error) (key, nonce string) {
	p.Helper()
	for i := range 10 {
		key, nonce, m := fmt.Sprint("alive", i), p.nonce(), p.now()
		p.take(key, nonce, p.short)
		err := step(key, nonce)
		if err == nil {
			return key, nonce
		}
		if p.within(m, p.short) {
			p.Fatalf("the owner's call returned %v, want nil", err)
		}
	}
	p.Fatalf("this machine is too slow for a TTL of %v", p.short)
	return "", ""
}

// reserve acquires with a block of fences and insists on it.
func (p *probe) reserve(key, nonce string, ttl time.Duration, block uint64) lock.Grant {
	p.Helper()
	g, err := p.backend.Acquire(p.ctx(), lock.Request{Key: key, Nonce: nonce, TTL: ttl, Block: block})
	if err != nil {
		p.Fatalf("acquire of a key that nobody owns: %v", err)
	}
	return g
}

// refused acquires for a new nonce and insists that another owns the key.
func (p *probe) refused(key string, waiting bool) *lock.HeldError {
	p.Helper()
	g, err := p.backend.Acquire(p.ctx(), lock.Request{Key: key, Nonce: p.nonce(), TTL: long, Block: 1, Waiting: waiting})
	if err == nil {
		p.Fatalf("a second owner was granted the key, with fence %d", g.Fence)
	}
	held, ok := errors.AsType[*lock.HeldError](err)
	if !ok {
		p.Fatalf("acquire of a key that another owns returned %v, want a *lock.HeldError", err)
	}
	return held
}

// owns insists that nonce holds key, and changes nothing but by a short TTL.
func (p *probe) owns(key, nonce string) {
	p.Helper()
	p.refused(key, false)
	if _, err := p.extend(key, nonce, p.features.MinTTL); err != nil {
		p.Fatalf("the owner's extend returned %v: it should still own the key", err)
	}
}

// extend reserves no fences.
func (p *probe) extend(key, nonce string, ttl time.Duration) (lock.Grant, error) {
	return p.backend.Extend(p.ctx(), lock.Request{Key: key, Nonce: nonce, TTL: ttl})
}

// release keeps the store's fence and remembers the nonce for long.
func (p *probe) release(key, nonce string) error {
	return p.backend.Release(p.ctx(), lock.ReleaseRequest{Key: key, Nonce: nonce, TTL: long})
}

// give releases and insists on it.
func (p *probe) give(key, nonce string) {
	p.Helper()
	p.must(p.release(key, nonce), "release by the owner")
}

// keep releases, keeping the key for d.
func (p *probe) keep(key, nonce string, d time.Duration) {
	p.Helper()
	err := p.backend.Release(p.ctx(), lock.ReleaseRequest{Key: key, Nonce: nonce, TTL: long, Keep: d})
	p.must(err, "release that keeps the key")
}

// compensate releases what may or may not have been granted.
func (p *probe) compensate(key, nonce string) error {
	return p.backend.Release(p.ctx(), lock.ReleaseRequest{Key: key, Nonce: nonce, TTL: long, Compensate: true})
}

// must insists that what was done succeeded.
func (p *probe) must(err error, what string) {
	p.Helper()
	if err != nil {
		p.Fatalf("%s returned %v, want nil", what, err)
	}
}

// fails insists that what was done ended in want.
func (p *probe) fails(err, want error, what string) {
	p.Helper()
	if !errors.Is(err, want) {
		p.Fatalf("%s returned %v, want an error that matches %q", what, err, want)
	}
}

// scan insists that all the store holds has an expiry.
func (p *probe) scan() {
	p.Helper()
	if p.store.Scan != nil {
		p.store.Scan()
		return
	}
	if in, ok := p.backend.(lock.Inspector); ok {
		for info, err := range in.List(p.ctx()) {
			if err != nil {
				p.Fatalf("list: %v", err)
			}
			if info.Remaining <= 0 {
				p.Errorf("a key in the state %s has no expiry", info.State)
			}
		}
	}
}
