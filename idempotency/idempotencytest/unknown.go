package idempotencytest

import (
	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/lock"
)

func unknownLaws() []law {
	return []law{{
		name: "UnknownIsNotClaimed",
		why:  "when nobody knows whether the effect has happened, running it again may make it happen twice: the key is held until somebody finds out",
		test: func(p *probe) {
			key, m := p.key(), p.now()
			p.doubt(key, p.claimed(key), short)
			p.advance(short / 2)
			b, err := p.ask(key, p.nonce(), long)
			p.must(err, "begin of a key whose outcome is unknown")
			if b.State != idempotency.StateUnknown && p.within(m, short) {
				p.Fatalf("a key whose outcome is unknown is %s, want %s", b.State, idempotency.StateUnknown)
			}
			// It is held for its time also if the claim or the stub would end before.
			key, _ = p.alive(func(key idempotency.Digest, nonce idempotency.Nonce) error {
				return p.releaseAs(idempotency.ReleaseRequest{Key: key, Nonce: nonce, TTL: short, Unknown: long})
			})
			p.outlast(short)
			p.finds(key, idempotency.StateUnknown)
		},
	}, {
		name: "UnknownEnds",
		why:  "the hold time is how long somebody has to find out: then the key is free again, whatever the claim's lease was",
		test: func(p *probe) {
			key := p.key()
			p.doubt(key, p.claimed(key), short)
			p.outlast(short)
			p.owns(key, p.claimed(key))
		},
	}, {
		name: "UnknownStands",
		why:  "what was declared unknown is not undone by a renewal, release or completion that was still under way, the own one's or another's",
		test: func(p *probe) {
			key := p.key()
			a, b := p.nonce(), p.nonce()
			begun := p.claimFor(key, a, long, p.print(3))
			p.doubt(key, a, long)
			p.fails(p.renew(key, a, long), lock.ErrTaken, "renew of the own unknown outcome")
			p.fails(p.renew(key, b, long), lock.ErrTaken, "renew of another's unknown outcome")
			p.give(key, a)
			p.must(p.compensate(key, a), "compensation by who declared the outcome unknown")
			p.must(p.releaseAs(idempotency.ReleaseRequest{Key: key, Nonce: a, Unknown: short}), "a second release as unknown")
			p.fails(p.release(key, b), lock.ErrTaken, "release of another's unknown outcome")
			p.fails(p.compensate(key, b), lock.ErrTaken, "compensation of another's unknown outcome")
			_, err := p.complete(key, p.record(a, begun, "own"))
			p.fails(err, lock.ErrExpired, "complete of the own unknown outcome")
			_, err = p.complete(key, p.record(b, begun, "other"))
			p.fails(err, lock.ErrTaken, "complete of another's unknown outcome")
			p.outlast(short)
			if b := p.finds(key, idempotency.StateUnknown); b.Fingerprint != p.print(3) {
				p.Fatalf("an unknown outcome came back with the fingerprint %x, want %x", b.Fingerprint, p.print(3))
			}
		},
	}}
}

func compensationLaws() []law {
	return []law{{
		name: "CompensationSpendsNonce",
		why:  "a begin that was given up may still be on its way: undone before it arrives, it must be refused when it does",
		test: func(p *probe) {
			key, a := p.key(), p.nonce()
			p.must(p.compensate(key, a), "compensation of a key that is absent")
			_, err := p.ask(key, a, long)
			p.fails(err, lock.ErrSpent, "the late copy of a begin that was undone")
			p.must(p.compensate(key, a), "compensation sent twice")
			p.must(p.release(key, a), "release after compensation")
			p.fails(p.renew(key, a, long), lock.ErrExpired, "renew after compensation")
			_, err = p.complete(key, p.record(a, idempotency.Begun{Fence: 1, Attempt: 1}, "body"))
			p.fails(err, lock.ErrExpired, "complete after compensation")
		},
	}, {
		name: "CompensationIsInvisible",
		why:  "what an undone begin leaves behind must not keep anybody else from the key, nor count as an attempt",
		test: func(p *probe) {
			key, b := p.key(), p.nonce()
			p.must(p.compensate(key, p.nonce()), "compensation of a key that is absent")
			p.fails(p.release(key, b), lock.ErrExpired, "release by a stranger after compensation")
			if begun := p.claim(key, b, long); begun.Attempt != 1 {
				p.Fatalf("the first claim after a begin that was undone is attempt %d, want 1", begun.Attempt)
			}
			p.owns(key, b)
		},
	}, {
		name: "CompensationFreesOwn",
		why:  "a claim that its asker never saw must be undone, or nobody runs until its lease is over; it was no attempt",
		test: func(p *probe) {
			key, b := p.key(), p.nonce()
			a := p.claimed(key)
			p.must(p.compensate(key, a), "compensation of a claim that was never seen")
			_, err := p.ask(key, a, long)
			p.fails(err, lock.ErrSpent, "the late copy of a begin that was undone")
			if begun := p.claim(key, b, long); begun.Attempt != 1 {
				p.Fatalf("the first claim after one that was undone is attempt %d, want 1", begun.Attempt)
			}
			p.owns(key, b)
		},
	}, {
		name: "CompensationLeavesOthers",
		why:  "undoing a begin that was refused must not touch what refused it",
		test: func(p *probe) {
			key, b := p.key(), p.nonce()
			p.claim(key, b, long)
			p.fails(p.compensate(key, p.nonce()), lock.ErrTaken, "compensation when another has the key")
			p.owns(key, b)
			done := p.key("done")
			r := p.run(done, "body")
			p.fails(p.compensate(done, p.nonce()), lock.ErrTaken, "compensation when the key is completed")
			p.holds(done, r)
		},
	}, {
		name: "CompensationOnFree",
		why:  "a begin that is undone where another's nonce is spent must be refused too, and must not forget what that left: the attempts, and when to come again",
		test: func(p *probe) {
			key, b := p.key(), p.nonce()
			p.give(key, p.claimed(key))
			p.must(p.compensate(key, b), "compensation of a key that another gave back")
			_, err := p.ask(key, b, long)
			p.fails(err, lock.ErrSpent, "the late copy of a begin that was undone")
			if begun := p.claim(key, p.nonce(), long); begun.Attempt != 2 {
				p.Fatalf("the claim after a release and a begin that was undone is attempt %d, want 2", begun.Attempt)
			}

			early, a := p.key("early"), p.nonce()
			p.claim(early, a, long)
			p.must(p.releaseAs(idempotency.ReleaseRequest{Key: early, Nonce: a, NotBefore: long}),
				"release with a not-before time")
			b = p.nonce()
			p.must(p.releaseAs(idempotency.ReleaseRequest{Key: early, Nonce: b, TTL: short, Compensate: true}),
				"compensation of a key that may not be claimed yet")
			_, err = p.ask(early, b, long)
			p.fails(err, lock.ErrSpent, "the late copy of a begin that was undone")
			p.finds(early, idempotency.StateFree)
			p.outlast(short)
			p.finds(early, idempotency.StateFree)
		},
	}}
}
