package locktest

import (
	"errors"
	"time"

	"github.com/semel-go/semel/lock"
)

func expiryLaws() []law {
	return []law{{
		name: "ExpiryFrees",
		why:  "an owner that died frees its key when its TTL is over, without anybody's help",
		test: func(p *probe) {
			a := p.nonce()
			p.take("key", a, p.short)
			p.outlast(p.short)
			b := p.nonce()
			p.take("key", b, long)
			p.owns("key", b)
			_, err := p.extend("key", a, long)
			p.fails(err, lock.ErrTaken, "extend by the former owner")
		},
	}, {
		name: "ExpiryIsNotEarly",
		why:  "the owner trusts its lease for nearly all of its TTL: ending it earlier makes two owners",
		test: func(p *probe) {
			m := p.now()
			p.take("key", p.nonce(), p.short)
			p.advance(p.short * 9 / 10)
			if _, err := p.acquire("key", p.nonce(), long); err == nil && p.within(m, p.short) {
				p.Fatalf("the key was free after nine tenths of its TTL of %v", p.short)
			}
		},
	}, {
		name: "FractionsRoundUp",
		why:  "a store that counts in milliseconds must round a TTL up: rounded down it ends while its owner trusts it",
		test: func(p *probe) {
			whole := p.features.MinTTL.Truncate(time.Millisecond) + 10*time.Millisecond
			for _, key := range []string{"acquired", "extended", "kept"} {
				a, m := p.nonce(), p.now()
				switch key {
				case "acquired":
					p.take(key, a, whole+time.Nanosecond)
				case "extended":
					p.take(key, a, p.features.MinTTL)
					if _, err := p.extend(key, a, whole+time.Nanosecond); p.within(m, p.features.MinTTL) {
						p.must(err, "extend by the owner")
					} else if err != nil {
						continue // a slow machine: it had expired
					}
				case "kept":
					p.take(key, a, long)
					p.keep(key, a, whole+time.Nanosecond)
				}
				p.advance(whole)
				_, err := p.acquire(key, p.nonce(), long)
				if err == nil && p.within(m, whole+time.Nanosecond) {
					p.Fatalf("a key %s for %v and a nanosecond was free after %v", key, whole, whole)
				}
			}
		},
	}, {
		name: "SpentNonceIsForgotten",
		why:  "what a release leaves behind ends too: a store that remembers every nonce fills up",
		test: func(p *probe) {
			a := p.nonce()
			p.take("key", a, long)
			p.must(p.backend.Release(p.ctx(), lock.ReleaseRequest{Key: "key", Nonce: a, TTL: p.short}), "release by the owner")
			p.outlast(p.short)
			p.fails(p.release("key", a), lock.ErrExpired, "release of a key whose last nonce should be forgotten")
			p.must(p.backend.Release(p.ctx(), lock.ReleaseRequest{Key: "key", Nonce: a, TTL: p.short, Compensate: true}),
				"compensation of a key that is absent")
			p.outlast(p.short)
			p.fails(p.release("key", a), lock.ErrExpired, "release of a key whose last compensation should be forgotten")
		},
	}, {
		name:  "EverythingExpires",
		why:   "nothing is ever stored without an expiry, on whichever way it came to be stored",
		needs: []ability{inspection},
		test:  everythingExpires,
	}}
}

// everythingExpires brings keys into every state on every way with a short TTL,
// and finds all of them absent when it is over.
func everythingExpires(p *probe) {
	in := p.backend.(lock.Inspector)
	// Leases taken one after the other may end before the last is taken, so
	// what the steps return is not looked at.
	step := func(key string, then func(nonce string)) {
		a := p.nonce()
		_, err := p.acquire(key, a, p.short)
		p.must(err, "acquire of a key that nobody owns")
		then(a)
	}
	release := func(key, nonce string, keep time.Duration, compensate bool) {
		_ = p.backend.Release(p.ctx(), lock.ReleaseRequest{
			Key: key, Nonce: nonce, TTL: p.short, Keep: keep, Compensate: compensate,
		})
	}
	step("held", func(string) {})
	step("resent", func(a string) { _, _ = p.acquire("resent", a, p.short) })
	step("extended", func(a string) { _, _ = p.extend("extended", a, p.short) })
	step("reserved", func(a string) {
		_, _ = p.backend.Extend(p.ctx(), lock.Request{Key: "reserved", Nonce: a, TTL: p.short, Block: 64})
	})
	step("waited", func(string) {
		_, _ = p.backend.Acquire(p.ctx(), lock.Request{Key: "waited", Nonce: p.nonce(), TTL: p.short, Block: 1, Waiting: true})
	})
	step("free", func(a string) { release("free", a, 0, false); release("free", a, 0, false) })
	step("kept", func(a string) { release("kept", a, p.short, false); release("kept", a, p.short, false) })
	step("compensated", func(a string) { release("compensated", a, 0, true) })
	step("overwritten", func(a string) {
		release("overwritten", a, 0, false)
		release("overwritten", p.nonce(), 0, true)
	})
	step("broken", func(string) { p.must(in.Break(p.ctx(), "broken"), "break") })
	if raiser, ok := p.backend.(lock.Raiser); ok {
		step("raised", func(a string) { _ = raiser.Raise(p.ctx(), "raised", a, 1<<51) })
	}
	release("absent", p.nonce(), 0, true)
	p.scan()

	p.outlast(p.short)
	for _, key := range []string{
		"held", "resent", "extended", "reserved", "waited", "free", "kept",
		"compensated", "overwritten", "raised", "absent",
	} {
		info, err := in.Look(p.ctx(), key)
		p.must(err, "look")
		if info.State != lock.StateAbsent {
			p.Errorf("the key %q is %s for another %v after its TTL, want it absent", key, info.State, info.Remaining)
		}
	}
	// How long a broken key's nonce is remembered is the store's to choose.
	broken, err := in.Look(p.ctx(), "broken")
	p.must(err, "look")
	if broken.State != lock.StateAbsent && broken.Remaining > lock.MaxTTL {
		p.Errorf("a broken key is remembered for %v", broken.Remaining)
	}
	if _, err := p.acquire("held", p.nonce(), long); errors.Is(err, lock.ErrNotAcquired) {
		p.Errorf("a key that should have expired was refused: %v", err)
	}
}
