package idempotencytest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-go/semel/idempotency"
)

const (
	// long is a lease or retention that does not end during a law, however
	// slow the machine.
	long = 10 * time.Minute
	// short is a lease or retention that a law waits for the end of.
	short = 250 * time.Millisecond
	// patience is how long a law waits for what has to come.
	patience = 20 * time.Second
)

// probe is one law's hold on the store under test.
type probe struct {
	*testing.T
	hold     Store
	store    idempotency.Store
	features Features
	advanced time.Duration
	nonces   atomic.Uint64
}

func newProbe(t *testing.T, h Harness) *probe {
	t.Helper()
	s := h.New(t)
	if s.Store == nil {
		t.Fatal("idempotencytest: Harness.New returned a Store without a Store")
	}
	return &probe{T: t, hold: s, store: s.Store, features: h.Features}
}

// key returns the digest of a key of that name.
func (p *probe) key(name ...any) idempotency.Digest {
	p.Helper()
	d, err := idempotency.Key{Scope: "law", ID: "key:" + fmt.Sprint(name...)}.Digest()
	if err != nil {
		p.Fatalf("digest of a key: %v", err)
	}
	return d
}

// nonce returns a nonce that no other call returns. It holds every kind of
// byte that a store could stumble over.
func (p *probe) nonce() idempotency.Nonce {
	n := idempotency.Nonce{0, 0xff, '\n', 0, '"', '{', '}', 0x80}
	binary.BigEndian.PutUint64(n[8:], p.nonces.Add(1))
	return n
}

// print returns a fingerprint of which no byte is another's.
func (p *probe) print(seed byte) idempotency.Fingerprint {
	var f idempotency.Fingerprint
	for i := range f {
		f[i] = seed + byte(i)*7
	}
	return f
}

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
	case p.hold.Advance != nil:
		passed += p.advanced - m.advanced
	}
	return passed < d
}

// advance lets d pass on the store's clock.
func (p *probe) advance(d time.Duration) {
	if p.hold.Advance == nil {
		time.Sleep(d)
	} else {
		p.hold.Advance(d)
	}
	p.advanced += d
}

// outlast lets so much time pass that what was armed for d has ended.
func (p *probe) outlast(d time.Duration) {
	p.advance(d + p.features.Granularity + 5*time.Millisecond)
}

// most is the most that may remain of what was armed for d.
func (p *probe) most(d time.Duration) time.Duration {
	return d + time.Millisecond + p.features.Granularity
}

// remains insists that some of d remains, and not more.
func (p *probe) remains(got, d time.Duration, of string) {
	p.Helper()
	if got <= 0 || got > p.most(d) {
		p.Fatalf("%v remains of %s armed for %v, want more than 0 and at most that", got, of, d)
	}
}

// ask begins without a fingerprint.
func (p *probe) ask(key idempotency.Digest, nonce idempotency.Nonce, lease time.Duration) (idempotency.Begun, error) {
	return p.store.Begin(p.ctx(), idempotency.BeginRequest{Key: key, Nonce: nonce, Lease: lease})
}

// finds begins for a new nonce that does not wait and insists on the state
// that it finds.
func (p *probe) finds(key idempotency.Digest, want idempotency.State) idempotency.Begun {
	p.Helper()
	b, err := p.ask(key, p.nonce(), long)
	p.must(err, "begin by another")
	if b.State != want {
		p.Fatalf("begin by another says that the key is %s, want %s", b.State, want)
	}
	return b
}

// claim begins and insists on a claim.
func (p *probe) claim(key idempotency.Digest, nonce idempotency.Nonce, lease time.Duration) idempotency.Begun {
	p.Helper()
	return p.claimFor(key, nonce, lease, idempotency.Fingerprint{})
}

// claimFor is claim with a fingerprint.
func (p *probe) claimFor(
	key idempotency.Digest, nonce idempotency.Nonce, lease time.Duration, print idempotency.Fingerprint,
) idempotency.Begun {
	p.Helper()
	b, err := p.store.Begin(p.ctx(), idempotency.BeginRequest{Key: key, Nonce: nonce, Lease: lease, Fingerprint: print})
	p.must(err, "begin of a key that nobody owns")
	if b.State != idempotency.StateClaimed {
		p.Fatalf("begin of a key that nobody owns says that it is %s, want %s", b.State, idempotency.StateClaimed)
	}
	if b.Fence == 0 || b.Attempt == 0 {
		p.Fatalf("a claim has the fence %d and the attempt %d, want both above 0", b.Fence, b.Attempt)
	}
	return b
}

// owns insists that nonce has the claim of key, and changes nothing but by a
// short lease.
func (p *probe) owns(key idempotency.Digest, nonce idempotency.Nonce) {
	p.Helper()
	p.finds(key, idempotency.StateHeld)
	p.must(p.renew(key, nonce, idempotency.MinLease), "renew by the owner, which should still have its claim,")
}

// alive claims a key for short and does step while that claim is alive. If step
// fails on a machine so slow that the lease may have ended, it starts over with
// another key.
func (p *probe) alive(step func(key idempotency.Digest, nonce idempotency.Nonce) error) (idempotency.Digest, idempotency.Nonce) {
	p.Helper()
	for i := range 10 {
		key, nonce, m := p.key("alive", i), p.nonce(), p.now()
		p.claim(key, nonce, short)
		err := step(key, nonce)
		if err == nil {
			return key, nonce
		}
		if p.within(m, short) {
			p.Fatalf("the owner's call returned %v, want nil", err)
		}
	}
	p.Fatalf("this machine is too slow for a lease of %v", short)
	return idempotency.Digest{}, idempotency.Nonce{}
}

func (p *probe) renew(key idempotency.Digest, nonce idempotency.Nonce, lease time.Duration) error {
	return p.store.Renew(p.ctx(), idempotency.RenewRequest{Key: key, Nonce: nonce, Lease: lease})
}

// release remembers the nonce for long.
func (p *probe) release(key idempotency.Digest, nonce idempotency.Nonce) error {
	return p.releaseAs(idempotency.ReleaseRequest{Key: key, Nonce: nonce})
}

// releaseAs releases as r says, for long if r does not say for how long.
func (p *probe) releaseAs(r idempotency.ReleaseRequest) error {
	if r.TTL == 0 {
		r.TTL = long
	}
	return p.store.Release(p.ctx(), r)
}

// give releases and insists on it.
func (p *probe) give(key idempotency.Digest, nonce idempotency.Nonce) {
	p.Helper()
	p.must(p.release(key, nonce), "release by the owner")
}

// doubt declares the outcome of nonce's run unknown for d.
func (p *probe) doubt(key idempotency.Digest, nonce idempotency.Nonce, d time.Duration) {
	p.Helper()
	p.must(p.releaseAs(idempotency.ReleaseRequest{Key: key, Nonce: nonce, Unknown: d}), "release as unknown by the owner")
}

// compensate releases what may or may not have been claimed.
func (p *probe) compensate(key idempotency.Digest, nonce idempotency.Nonce) error {
	return p.releaseAs(idempotency.ReleaseRequest{Key: key, Nonce: nonce, Compensate: true})
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
	if p.hold.Scan != nil {
		p.hold.Scan()
		return
	}
	if in, ok := p.store.(idempotency.Inspector); ok && p.features.Inspect {
		for info, err := range in.List(p.ctx(), idempotency.ListOptions{}) {
			if err != nil {
				p.Fatalf("list: %v", err)
			}
			if info.Remaining <= 0 {
				p.Errorf("a key that is %s has no expiry", info.State)
			}
		}
	}
}
