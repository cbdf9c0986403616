package idempotencytest

import (
	"time"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/lock"
)

func expiryLaws() []law {
	return []law{{
		name: "ExpiryHandsOver",
		why:  "an owner that died frees its key when its lease is over, without anybody's help: the redelivery runs",
		test: func(p *probe) {
			key, a, b := p.key(), p.nonce(), p.nonce()
			p.claim(key, a, short)
			p.outlast(short)
			p.claim(key, b, long)
			p.owns(key, b)
			p.fails(p.renew(key, a, long), lock.ErrTaken, "renew by the former owner")
			p.owns(key, b)
		},
	}, {
		name: "ExpiryIsNotEarly",
		why:  "the owner trusts its claim for nearly all of its lease: ending it earlier makes two owners",
		test: func(p *probe) {
			key, m := p.key(), p.now()
			p.claim(key, p.nonce(), short)
			p.advance(short * 9 / 10)
			b, err := p.ask(key, p.nonce(), long)
			p.must(err, "begin by another")
			if b.State == idempotency.StateClaimed && p.within(m, short) {
				p.Fatalf("the key was free after nine tenths of its lease of %v", short)
			}
		},
	}, {
		name: "FractionsRoundUp",
		why:  "a store that counts in milliseconds must round a lease up: rounded down it ends while its owner trusts it",
		test: fractionsRoundUp,
	}, {
		name: "RecordOutlivesLease",
		why:  "a record is kept for its retention, whatever its claim's lease was: forgotten with the lease, its event runs again",
		test: func(p *probe) {
			var r idempotency.Record
			key, _ := p.alive(func(key idempotency.Digest, nonce idempotency.Nonce) error {
				r = p.record(nonce, idempotency.Begun{Fence: 7, Attempt: 1}, "body")
				_, err := p.complete(key, r)
				return err
			})
			p.outlast(short)
			p.holds(key, r)
		},
	}, {
		name: "RecordEndsWithRetention",
		why:  "a record is kept for its retention and no longer, also if its claim's lease was longer: what never ends fills the store",
		test: func(p *probe) {
			key, a, b := p.key(), p.nonce(), p.nonce()
			begun := p.claim(key, a, long)
			_, err := p.store.Complete(p.ctx(), idempotency.CompleteRequest{
				Key: key, Record: p.record(a, begun, "body"), Retention: short,
			})
			p.must(err, "complete by the owner")
			p.outlast(short)
			p.claim(key, b, long)
			p.owns(key, b)
		},
	}, {
		name: "RetentionIsNotEarly",
		why:  "a redelivery within the retention is a duplicate up to its end",
		test: func(p *probe) {
			key, a := p.key(), p.nonce()
			begun, m := p.claim(key, a, long), p.now()
			_, err := p.store.Complete(p.ctx(), idempotency.CompleteRequest{
				Key: key, Record: p.record(a, begun, "body"), Retention: short,
			})
			p.must(err, "complete by the owner")
			p.advance(short * 9 / 10)
			got, err := p.ask(key, p.nonce(), long)
			p.must(err, "begin by another")
			if got.State != idempotency.StateCompleted && p.within(m, short) {
				p.Fatalf("the key is %s after nine tenths of its record's retention of %v", got.State, short)
			}
		},
	}, {
		name: "SpentNonceIsForgotten",
		why:  "what a release leaves behind ends too: a store that remembers every nonce fills up",
		test: func(p *probe) {
			key, a := p.key(), p.nonce()
			p.claim(key, a, long)
			p.must(p.releaseAs(idempotency.ReleaseRequest{Key: key, Nonce: a, TTL: short}), "release by the owner")
			p.outlast(short)
			p.fails(p.release(key, a), lock.ErrExpired, "release of a key whose last nonce should be forgotten")
			p.must(p.releaseAs(idempotency.ReleaseRequest{Key: key, Nonce: a, TTL: short, Compensate: true}),
				"compensation of a key that is absent")
			p.outlast(short)
			p.fails(p.release(key, a), lock.ErrExpired, "release of a key whose last compensation should be forgotten")
		},
	}, {
		name:  "EverythingExpires",
		why:   "nothing is ever stored without an expiry, on whichever way it came to be stored",
		needs: []ability{inspection},
		test:  everythingExpires,
	}}
}

func fractionsRoundUp(p *probe) {
	const whole = 100 * time.Millisecond
	for _, way := range []string{"claimed", "renewed", "completed", "unknown", "early"} {
		key, a, m := p.key(way), p.nonce(), p.now()
		begun := p.claim(key, a, long)
		switch way {
		case "claimed", "renewed":
			p.give(key, a)
			a, m = p.nonce(), p.now()
			lease := whole + time.Nanosecond
			if way == "renewed" {
				lease = whole / 2
			}
			p.claim(key, a, lease)
			if way == "renewed" {
				if err := p.renew(key, a, whole+time.Nanosecond); p.within(m, lease) {
					p.must(err, "renew by the owner")
				} else if err != nil {
					continue // a slow machine: it had expired
				}
			}
		case "completed":
			_, err := p.store.Complete(p.ctx(), idempotency.CompleteRequest{
				Key: key, Record: p.record(a, begun, ""), Retention: whole + time.Nanosecond,
			})
			p.must(err, "complete by the owner")
		case "unknown":
			p.doubt(key, a, whole+time.Nanosecond)
		case "early":
			p.must(p.releaseAs(idempotency.ReleaseRequest{Key: key, Nonce: a, NotBefore: whole + time.Nanosecond}),
				"release with a not-before time")
		}
		p.advance(whole)
		b, err := p.ask(key, p.nonce(), long)
		p.must(err, "begin by another")
		if b.State == idempotency.StateClaimed && p.within(m, whole+time.Nanosecond) {
			p.Fatalf("a key %s for %v and a nanosecond was free after %v", way, whole, whole)
		}
	}
}

// everythingExpires brings keys into every state on every way for a short time,
// and finds all of them absent when it is over.
func everythingExpires(p *probe) {
	in := p.store.(idempotency.Inspector)
	var names []string
	// Claims made one after the other may end before the last is made, so what
	// the steps return is not looked at.
	step := func(name string, then func(key idempotency.Digest, nonce idempotency.Nonce)) {
		a := p.nonce()
		p.claim(p.key(name), a, short)
		then(p.key(name), a)
		names = append(names, name)
	}
	release := func(r idempotency.ReleaseRequest) {
		r.TTL = short
		_ = p.store.Release(p.ctx(), r)
	}
	complete := func(key idempotency.Digest, nonce idempotency.Nonce) idempotency.CompleteRequest {
		r := p.record(nonce, idempotency.Begun{Fence: 7, Attempt: 1}, "body")
		return idempotency.CompleteRequest{Key: key, Record: r, Retention: short}
	}
	step("claimed", func(idempotency.Digest, idempotency.Nonce) {})
	step("resent", func(k idempotency.Digest, a idempotency.Nonce) { _, _ = p.ask(k, a, short) })
	step("renewed", func(k idempotency.Digest, a idempotency.Nonce) { _ = p.renew(k, a, short) })
	step("waited", func(k idempotency.Digest, _ idempotency.Nonce) {
		_, _ = p.store.Begin(p.ctx(), idempotency.BeginRequest{Key: k, Nonce: p.nonce(), Lease: short, Waiting: true})
	})
	step("completed", func(k idempotency.Digest, a idempotency.Nonce) {
		_, _ = p.store.Complete(p.ctx(), complete(k, a))
		_, _ = p.store.Complete(p.ctx(), complete(k, a))
		_, _ = p.ask(k, p.nonce(), short)
	})
	step("unknown", func(k idempotency.Digest, a idempotency.Nonce) {
		release(idempotency.ReleaseRequest{Key: k, Nonce: a, Unknown: short})
		release(idempotency.ReleaseRequest{Key: k, Nonce: a, Unknown: short})
	})
	step("free", func(k idempotency.Digest, a idempotency.Nonce) {
		release(idempotency.ReleaseRequest{Key: k, Nonce: a})
		release(idempotency.ReleaseRequest{Key: k, Nonce: a})
	})
	step("early", func(k idempotency.Digest, a idempotency.Nonce) {
		release(idempotency.ReleaseRequest{Key: k, Nonce: a, NotBefore: short})
		_, _ = p.ask(k, p.nonce(), short)
	})
	step("compensated", func(k idempotency.Digest, a idempotency.Nonce) {
		release(idempotency.ReleaseRequest{Key: k, Nonce: a, Compensate: true})
	})
	step("overwritten", func(k idempotency.Digest, a idempotency.Nonce) {
		release(idempotency.ReleaseRequest{Key: k, Nonce: a})
		release(idempotency.ReleaseRequest{Key: k, Nonce: p.nonce(), Compensate: true})
	})
	step("forgotten", func(k idempotency.Digest, _ idempotency.Nonce) {
		_, err := in.Forget(p.ctx(), k, short)
		p.must(err, "forget")
	})
	step("forced", func(k idempotency.Digest, _ idempotency.Nonce) {
		_, err := in.ForceComplete(p.ctx(), complete(k, p.nonce()))
		p.must(err, "force-complete")
	})
	step("dead", func(k idempotency.Digest, a idempotency.Nonce) {
		_, err := in.ReleaseDead(p.ctx(), k, a, short)
		p.must(err, "release of a dead claim")
	})
	release(idempotency.ReleaseRequest{Key: p.key("absent"), Nonce: p.nonce(), Compensate: true})
	_, _ = p.store.Complete(p.ctx(), complete(p.key("late"), p.nonce()))
	p.scan()

	// A free key is remembered beyond its not-before time.
	p.outlast(2 * short)
	for _, name := range append(names, "absent", "late") {
		info, err := in.Look(p.ctx(), p.key(name))
		p.must(err, "look")
		if info.State != idempotency.StateAbsent {
			p.Errorf("the key %q is %s for another %v after its time, want it absent", name, info.State, info.Remaining)
		}
		p.claim(p.key(name), p.nonce(), long)
	}
}
