package idempotencytest

import (
	"errors"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/lock"
)

func resendLaws() []law {
	return []law{{
		name: "ResendIsOurs",
		why:  "clients send a command again when its reply was lost: a begin that finds its own nonce has succeeded, as the same attempt with the same fence",
		test: func(p *probe) {
			key, a := p.key(), p.nonce()
			p.give(key, p.claimed(key))
			first := p.claim(key, a, long)
			for range 3 {
				if b := p.claim(key, a, long); b.Fence != first.Fence || b.Attempt != first.Attempt {
					p.Fatalf("the resent begin was given attempt %d with fence %d, want the same %d with %d",
						b.Attempt, b.Fence, first.Attempt, first.Fence)
				}
			}
			p.owns(key, a)
		},
	}, {
		name: "ResendArmsFullLease",
		why:  "the answer to a resent begin is trusted from the time it was sent: it must last from then on",
		test: func(p *probe) {
			key, a := p.key(), p.nonce()
			p.claim(key, a, short)
			p.advance(short / 2)
			m := p.now()
			p.claim(key, a, short)
			p.advance(short * 3 / 4)
			b, err := p.ask(key, p.nonce(), long)
			p.must(err, "begin by another")
			if b.State == idempotency.StateClaimed && p.within(m, short) {
				p.Fatal("the key was free before the lease of the resent begin was over")
			}
		},
	}, {
		name: "ResendNeverShortens",
		why:  "a copy of the begin may arrive when the claim has been renewed for longer, which its owner trusts",
		test: func(p *probe) {
			key, a := p.key(), p.nonce()
			p.claim(key, a, long)
			p.claim(key, a, short)
			p.outlast(short)
			p.owns(key, a)
		},
	}, {
		name: "SpentNonceIsRefused",
		why:  "a copy of a begin that arrives after its claim was given back must not claim the key for nobody",
		test: func(p *probe) {
			key, a, b := p.key(), p.nonce(), p.nonce()
			p.claim(key, a, long)
			p.give(key, a)
			for range 2 {
				_, err := p.ask(key, a, long)
				p.fails(err, lock.ErrSpent, "a copy of the begin after the release")
			}
			p.give(key, a)
			p.claim(key, b, long)
			p.owns(key, b)

			early := p.key("early")
			p.claim(early, a, long)
			p.must(p.releaseAs(idempotency.ReleaseRequest{Key: early, Nonce: a, NotBefore: long}),
				"release with a not-before time")
			_, err := p.ask(early, a, long)
			p.fails(err, lock.ErrSpent, "a copy of the begin after a release with a not-before time")

			unknown := p.key("unknown")
			p.claim(unknown, a, long)
			p.doubt(unknown, a, long)
			if got, err := p.ask(unknown, a, long); !errors.Is(err, lock.ErrSpent) && (err != nil || got.State != idempotency.StateUnknown) {
				p.Fatalf("a copy of the begin after a release as unknown says %s, %v", got.State, err)
			}
			p.finds(unknown, idempotency.StateUnknown)
		},
	}, {
		name: "ResendFindsOwnCompletion",
		why:  "a copy of the begin that arrives after the completion is a duplicate like any other: it must not claim, nor disturb the record",
		test: func(p *probe) {
			key := p.key()
			r := p.run(key, "body")
			b, err := p.ask(key, r.Nonce, long)
			p.must(err, "a copy of the begin after the completion")
			if b.State != idempotency.StateCompleted {
				p.Fatalf("a copy of the begin after the completion says %s, want %s", b.State, idempotency.StateCompleted)
			}
			p.same(b.Record, r)
			p.holds(key, r)
		},
	}}
}
