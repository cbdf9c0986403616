package idempotencytest

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/lock"
)

const forever = time.Duration(1<<63 - 1)

func inputLaws() []law {
	return []law{{
		name: "LeaseOutOfRangeIsInvalid",
		why:  "a lease that is forgotten, negative or rounded to 0 either never ends or ends at once, and one of a year is a mistake",
		test: func(p *probe) {
			key, held := p.key(), p.key("held")
			a := p.claimed(held)
			for _, d := range []time.Duration{
				0, -1, -time.Hour, 1, 999 * time.Microsecond, idempotency.MinLease - 1, idempotency.MaxLease + 1, forever,
			} {
				_, err := p.ask(key, p.nonce(), d)
				p.invalid(err, "begin", "lease", d)
				p.invalid(p.renew(held, a, d), "renew", "lease", d)
				p.owns(held, a)
			}
			p.untouched(key)
			for i, d := range []time.Duration{idempotency.MinLease, idempotency.MaxLease} {
				p.claim(p.key(i), p.nonce(), d)
			}
		},
	}, {
		name: "RetentionOutOfRangeIsInvalid",
		why:  "a retention that is forgotten or negative makes a record that never ends or never was: the caller must learn it, and the claim must stand",
		test: func(p *probe) {
			key := p.key()
			a := p.nonce()
			r := p.record(a, p.claim(key, a, long), "body")
			for _, d := range []time.Duration{0, -1, -time.Hour, idempotency.MaxRetention + 1, forever} {
				_, err := p.store.Complete(p.ctx(), idempotency.CompleteRequest{Key: key, Record: r, Retention: d})
				p.invalid(err, "complete", "retention", d)
				p.owns(key, a)
			}
			_, err := p.store.Complete(p.ctx(), idempotency.CompleteRequest{Key: key, Record: r, Retention: idempotency.MaxRetention})
			p.must(err, "complete with the longest retention")
			p.holds(key, r)
		},
	}, {
		name: "ReleaseOutOfRangeIsInvalid",
		why:  "a stub without an end fills the store, and a key that is held back for a century is lost: the caller must learn it, and the claim must stand",
		test: func(p *probe) {
			key := p.key()
			a := p.claimed(key)
			for _, d := range []time.Duration{0, -1, -time.Hour, idempotency.MaxRetention + 1, forever} {
				err := p.store.Release(p.ctx(), idempotency.ReleaseRequest{Key: key, Nonce: a, TTL: d})
				p.invalid(err, "release", "ttl", d)
				err = p.store.Release(p.ctx(), idempotency.ReleaseRequest{Key: p.key("absent"), Nonce: a, TTL: d, Compensate: true})
				p.invalid(err, "compensation", "ttl", d)
				if d > 0 {
					err = p.releaseAs(idempotency.ReleaseRequest{Key: key, Nonce: a, NotBefore: d})
					p.invalid(err, "release", "notbefore", d)
					err = p.releaseAs(idempotency.ReleaseRequest{Key: key, Nonce: a, Unknown: d})
					p.invalid(err, "release", "unknown", d)
				}
				p.owns(key, a)
			}
			p.untouched(p.key("absent"))
		},
	}, {
		name: "DeadContextLeavesNothing",
		why:  "a caller that has gone must not hold a key, nor be told that another does or that its claim is lost when nobody looked",
		test: deadContextLeavesNothing,
	}}
}

// invalid insists that err refuses a duration and names the field.
func (p *probe) invalid(err error, method, field string, d time.Duration) {
	p.Helper()
	if !errors.Is(err, idempotency.ErrInvalid) {
		p.Fatalf("%s with a %s of %v returned %v, want an error that matches %q", method, field, d, err, idempotency.ErrInvalid)
	}
	if !strings.Contains(strings.ToLower(err.Error()), field) {
		p.Fatalf("%s returned %q, which does not name %s", method, err, field)
	}
}

// untouched insists that what was refused has left nothing for the key.
func (p *probe) untouched(key idempotency.Digest) {
	p.Helper()
	if in, ok := p.store.(idempotency.Inspector); ok && p.features.Inspect {
		info, err := in.Look(p.ctx(), key)
		p.must(err, "look")
		if info.State != idempotency.StateAbsent {
			p.Fatalf("a refused request left a key that is %s", info.State)
		}
	}
	if b := p.claim(key, p.nonce(), long); b.Attempt != 1 {
		p.Fatalf("the first claim after refused requests is attempt %d, want 1", b.Attempt)
	}
}

func deadContextLeavesNothing(p *probe) {
	dead, cancel := context.WithCancel(p.Context())
	cancel()
	for i := range 10 {
		key, a := p.key(i), p.nonce()
		b, err := p.store.Begin(dead, idempotency.BeginRequest{Key: key, Nonce: a, Lease: long})
		if errors.Is(err, lock.ErrSpent) || err == nil && b.State != idempotency.StateClaimed {
			p.Fatalf("begin of a key that nobody owns under a context that had ended says %s, %v", b.State, err)
		}
		p.must(p.compensate(key, a), "compensation after a begin under a context that had ended")
		_, err = p.ask(key, a, long)
		p.fails(err, lock.ErrSpent, "a copy of the begin after it was undone")

		n := p.nonce()
		r := p.record(n, p.claim(key, n, long), "body")
		if err = p.store.Renew(dead, idempotency.RenewRequest{Key: key, Nonce: n, Lease: long}); errors.Is(err, lock.ErrLost) {
			p.Fatalf("the owner's renew under a context that had ended returned %v", err)
		}
		if i%2 == 0 {
			err = p.store.Release(dead, idempotency.ReleaseRequest{Key: key, Nonce: n, TTL: long})
			if errors.Is(err, lock.ErrLost) {
				p.Fatalf("the owner's release under a context that had ended returned %v", err)
			}
			p.give(key, n)
			continue
		}
		_, err = p.store.Complete(dead, idempotency.CompleteRequest{Key: key, Record: r, Retention: long})
		if errors.Is(err, lock.ErrLost) {
			p.Fatalf("the owner's complete under a context that had ended returned %v", err)
		}
		p.finish(key, r)
		p.holds(key, r)
	}
}
