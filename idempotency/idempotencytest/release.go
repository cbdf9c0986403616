package idempotencytest

import (
	"time"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/lock"
)

func releaseLaws() []law {
	return []law{{
		name: "ReleaseFrees",
		why:  "a run that failed leaves the key free, and the redelivery runs it again at once: what remembers the spent nonce is invisible to others",
		test: func(p *probe) {
			key := p.key()
			for range 5 {
				p.give(key, p.claimed(key))
			}
			p.owns(key, p.claimed(key))
		},
	}, {
		name: "ReleaseByOtherIsTaken",
		why:  "an owner whose lease ran out while it slept must not free the key of its successor: a third would run beside it",
		test: func(p *probe) {
			key, a, b := p.key(), p.nonce(), p.nonce()
			p.claim(key, a, short)
			p.outlast(short)
			p.claim(key, b, long)
			for _, n := range []idempotency.Nonce{a, p.nonce()} {
				for _, how := range []idempotency.ReleaseRequest{{}, {NotBefore: short}, {Unknown: short}} {
					how.Key, how.Nonce = key, n
					p.fails(p.releaseAs(how), lock.ErrTaken, "release by another than the owner")
				}
			}
			p.owns(key, b)
		},
	}, {
		name: "ReleaseOfAbsentIsExpired",
		why:  "who releases a claim that is gone must learn that it was gone: another may have run meanwhile",
		test: func(p *probe) {
			never, ended, a := p.key("never"), p.key("ended"), p.nonce()
			p.fails(p.release(never, a), lock.ErrExpired, "release of a key that nobody ever claimed")
			p.claim(ended, a, short)
			p.outlast(short)
			p.fails(p.release(ended, a), lock.ErrExpired, "release after the lease was over")
			p.fails(p.releaseAs(idempotency.ReleaseRequest{Key: ended, Nonce: a, Unknown: long}), lock.ErrExpired,
				"release as unknown after the lease was over")
			p.claim(ended, a, long)
		},
	}, {
		name: "ReleaseAfterOthersIsExpired",
		why:  "a key that another gave back is not the asker's to give back: it had lost it before",
		test: func(p *probe) {
			key := p.key()
			a := p.claimed(key)
			p.give(key, a)
			p.fails(p.releaseAs(idempotency.ReleaseRequest{Key: key, Nonce: p.nonce(), NotBefore: long}), lock.ErrExpired,
				"release of a key that another gave back")
			p.give(key, a)
			p.claim(key, p.nonce(), long)
		},
	}, {
		name: "ReleaseTwiceSucceeds",
		why:  "a release whose reply was lost is sent again: it must not look like a lost claim, and the first one stands",
		test: func(p *probe) {
			key := p.key()
			a := p.claimed(key)
			for range 3 {
				p.give(key, a)
			}
			p.must(p.releaseAs(idempotency.ReleaseRequest{Key: key, Nonce: a, NotBefore: long}), "a second release by the same nonce")
			p.must(p.releaseAs(idempotency.ReleaseRequest{Key: key, Nonce: a, Unknown: long}), "a third release by the same nonce")
			b := p.nonce()
			p.claim(key, b, long)
			p.fails(p.release(key, a), lock.ErrTaken, "another release when another has the key")
			p.owns(key, b)
		},
	}, {
		name: "NotBeforeHolds",
		why:  "a handler that says when to come again knows why: the key is not claimed earlier, and not told as somebody else's",
		test: func(p *probe) {
			key, m := p.key(), p.now()
			a := p.claimed(key)
			p.must(p.releaseAs(idempotency.ReleaseRequest{Key: key, Nonce: a, NotBefore: short}), "release with a not-before time")
			p.advance(short / 2)
			b, err := p.ask(key, p.nonce(), long)
			p.must(err, "begin before the not-before time")
			if b.State != idempotency.StateFree && p.within(m, short) {
				p.Fatalf("the key is %s before its not-before time, want %s", b.State, idempotency.StateFree)
			}

			key = p.key("long")
			a = p.claimed(key)
			// The time holds even if what remembers the nonce would end before.
			p.must(p.releaseAs(idempotency.ReleaseRequest{Key: key, Nonce: a, TTL: short, NotBefore: long}),
				"release with a not-before time")
			p.outlast(short)
			p.finds(key, idempotency.StateFree)
		},
	}, {
		name: "NotBeforeEnds",
		why:  "when the time has come the key is claimed like any other, whatever the lease of the claim before was",
		test: func(p *probe) {
			key := p.key()
			a := p.claimed(key)
			p.must(p.releaseAs(idempotency.ReleaseRequest{Key: key, Nonce: a, NotBefore: short}), "release with a not-before time")
			p.outlast(short)
			p.owns(key, p.claimed(key))
		},
	}, {
		name: "NotBeforeMayBeShort",
		why:  "a handler may want to come again in a moment: a time that is refused leaves the key to a run that has failed, until its lease is over",
		test: func(p *probe) {
			for i, d := range []time.Duration{1, time.Microsecond, time.Millisecond} {
				key := p.key(i)
				a := p.claimed(key)
				p.must(p.releaseAs(idempotency.ReleaseRequest{Key: key, Nonce: a, NotBefore: d}), "release with a short not-before time")
				p.outlast(short)
				p.owns(key, p.claimed(key))
			}
		},
	}}
}

func attemptLaws() []law {
	return []law{{
		name: "AttemptCountsReleases",
		why:  "a handler that gives up after so many attempts needs them counted across its failures",
		test: func(p *probe) {
			key := p.key()
			for want := range uint32(20) {
				a := p.nonce()
				if b := p.claim(key, a, long); b.Attempt != want+1 {
					p.Fatalf("the claim after %d releases is attempt %d, want %d", want, b.Attempt, want+1)
				}
				p.give(key, a)
			}
		},
	}, {
		name: "AttemptOutlivesNotBefore",
		why:  "a retry at the time that the handler asked for is the next attempt: the count is remembered for the stub's time after it",
		test: func(p *probe) {
			for i, ttl := range []time.Duration{long, 4 * short} {
				key, a := p.key(i), p.nonce()
				p.claim(key, a, long)
				m := p.now()
				p.must(p.releaseAs(idempotency.ReleaseRequest{Key: key, Nonce: a, TTL: ttl, NotBefore: 5 * short}),
					"release with a not-before time")
				p.outlast(5 * short)
				if b := p.claim(key, p.nonce(), long); b.Attempt != 2 && p.within(m, 5*short+ttl) {
					p.Fatalf("the claim after a not-before time is attempt %d, want 2", b.Attempt)
				}
			}
		},
	}, {
		name: "ForeignAttemptsDoNotCount",
		why:  "only a claim is an attempt: refused duplicates, resends and renewals are not",
		test: func(p *probe) {
			key := p.key()
			a := p.claimed(key)
			for range 3 {
				p.finds(key, idempotency.StateHeld)
				p.claim(key, a, long)
				p.must(p.renew(key, a, long), "renew by the owner")
			}
			p.give(key, a)
			p.give(key, a)
			if b := p.claim(key, p.nonce(), long); b.Attempt != 2 {
				p.Fatalf("the second claim is attempt %d, want 2", b.Attempt)
			}
		},
	}}
}
