package idempotencytest

import (
	"time"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/lock"
)

func operatorLaws() []law {
	return []law{{
		name:  "ForgetFrees",
		why:   "an operator who wants an event to run again gets that, whatever its key is in; and a run that is still under way can no longer complete",
		needs: []ability{inspection},
		test:  forgetFrees,
	}, {
		name:  "ForgetOfAbsentIsNothing",
		why:   "an operator who mistyped must learn that there was nothing, and nothing must be left",
		needs: []ability{inspection},
		test: func(p *probe) {
			done, err := p.inspector().Forget(p.ctx(), p.key(), long)
			p.must(err, "forget")
			if done {
				p.Fatal("forget says that there was something, of a key that is absent")
			}
			p.looks(p.key(), idempotency.StateAbsent, idempotency.Nonce{}, 0, false)
		},
	}, {
		name:  "ForgetIsRemembered",
		why:   "the spent nonce is remembered for as long as was asked, and no longer",
		needs: []ability{inspection},
		test: func(p *probe) {
			key := p.key()
			r := p.run(key, "body")
			p.forgets(key, short)
			p.outlast(short)
			p.looks(key, idempotency.StateAbsent, r.Nonce, 0, false)
			r = p.run(key, "body")
			p.forgets(key, long)
			p.outlast(short)
			_, err := p.ask(key, r.Nonce, long)
			p.fails(err, lock.ErrSpent, "a copy of the begin after its key was forgotten")
		},
	}, {
		name:  "ForceCompleteRecords",
		why:   "an operator who knows the outcome records it, and who was running learns that the key is not its own any more",
		needs: []ability{inspection},
		test:  forceCompleteRecords,
	}, {
		name:  "ForceCompleteKeepsCompleted",
		why:   "a completed outcome is final for operators too: they must forget it first, knowing what they do",
		needs: []ability{inspection},
		test: func(p *probe) {
			key := p.key()
			r := p.run(key, "body")
			done, err := p.inspector().ForceComplete(p.ctx(), idempotency.CompleteRequest{
				Key: key, Record: p.record(p.nonce(), idempotency.Begun{Attempt: 1}, "forced"), Retention: short,
			})
			p.must(err, "force-complete")
			if done {
				p.Fatal("force-complete says that it recorded an outcome over another")
			}
			p.outlast(short)
			p.holds(key, r)
		},
	}, {
		name:  "ReleaseDeadFrees",
		why:   "an owner that is known to be gone, or an outcome that was found out, need not keep the key for the rest of its time",
		needs: []ability{inspection},
		test:  releaseDeadFrees,
	}, {
		name:  "ReleaseDeadLeavesOthers",
		why:   "between an operator's look and act the key may have changed hands: only what was seen is freed",
		needs: []ability{inspection},
		test: func(p *probe) {
			in := p.inspector()
			act := func(key idempotency.Digest, nonce idempotency.Nonce, of string) {
				p.Helper()
				done, err := in.ReleaseDead(p.ctx(), key, nonce, long)
				p.must(err, "release of a dead claim")
				if done {
					p.Fatalf("the release of a dead claim says that it freed %s", of)
				}
			}
			claimed, done, free := p.key("claimed"), p.key("done"), p.key("free")
			a := p.claimed(claimed)
			act(claimed, p.nonce(), "another's claim")
			p.owns(claimed, a)
			r := p.run(done, "body")
			act(done, r.Nonce, "a completed key")
			p.holds(done, r)
			n := p.nonce()
			p.claim(free, n, long)
			p.must(p.releaseAs(idempotency.ReleaseRequest{Key: free, Nonce: n, NotBefore: long}), "release with a not-before time")
			act(free, n, "a free key")
			p.finds(free, idempotency.StateFree)
			act(p.key("absent"), a, "an absent key")
			p.looks(p.key("absent"), idempotency.StateAbsent, a, 0, false)
		},
	}, {
		name:  "OperatorOutOfRangeIsInvalid",
		why:   "what an operator leaves behind has an expiry too",
		needs: []ability{inspection},
		test: func(p *probe) {
			in, key := p.inspector(), p.key()
			a := p.claimed(key)
			for _, d := range []time.Duration{0, -1, -time.Hour, idempotency.MaxRetention + 1, forever} {
				_, err := in.Forget(p.ctx(), key, d)
				p.invalid(err, "forget", "stub", d)
				_, err = in.ReleaseDead(p.ctx(), key, a, d)
				p.invalid(err, "release of a dead claim", "stub", d)
				r := p.record(a, idempotency.Begun{Attempt: 1}, "body")
				_, err = in.ForceComplete(p.ctx(), idempotency.CompleteRequest{Key: key, Record: r, Retention: d})
				p.invalid(err, "force-complete", "retention", d)
				p.owns(key, a)
			}
		},
	}}
}

// forgets forgets key and insists that there was something.
func (p *probe) forgets(key idempotency.Digest, stub time.Duration) {
	p.Helper()
	done, err := p.inspector().Forget(p.ctx(), key, stub)
	p.must(err, "forget")
	if !done {
		p.Fatal("forget says that there was nothing")
	}
}

// gone insists that the run of nonce, whose key an operator freed, can neither
// complete nor begin again, and that the next claim goes on from b.
func (p *probe) gone(key idempotency.Digest, nonce idempotency.Nonce, b idempotency.Begun) {
	p.Helper()
	_, err := p.complete(key, p.record(nonce, b, "late"))
	p.fails(err, lock.ErrExpired, "complete after an operator freed the key")
	p.fails(p.renew(key, nonce, long), lock.ErrExpired, "renew after an operator freed the key")
	_, err = p.ask(key, nonce, long)
	p.fails(err, lock.ErrSpent, "a copy of the begin after an operator freed the key")
	n := p.nonce()
	next := p.claim(key, n, long)
	if next.Fence <= b.Fence || next.Attempt != b.Attempt+1 {
		p.Fatalf("the claim after an operator freed the key is attempt %d with fence %d, after %d with %d",
			next.Attempt, next.Fence, b.Attempt, b.Fence)
	}
	_, err = p.complete(key, p.record(nonce, b, "later"))
	p.fails(err, lock.ErrTaken, "complete after an operator freed the key and another claimed it")
	p.owns(key, n)
}

func forgetFrees(p *probe) {
	for _, state := range []idempotency.State{
		idempotency.StateClaimed, idempotency.StateCompleted, idempotency.StateUnknown, idempotency.StateFree,
	} {
		key, a := p.key(state), p.nonce()
		b := p.claim(key, a, long)
		switch state {
		case idempotency.StateCompleted:
			p.finish(key, p.record(a, b, "body"))
		case idempotency.StateUnknown:
			p.doubt(key, a, long)
		case idempotency.StateFree:
			p.must(p.releaseAs(idempotency.ReleaseRequest{Key: key, Nonce: a, NotBefore: long}), "release with a not-before time")
		}
		p.forgets(key, long)
		info := p.looks(key, idempotency.StateFree, a, 2*long, false)
		if info.NotBefore > 0 {
			p.Fatalf("a forgotten key may not be claimed for %v", info.NotBefore)
		}
		p.gone(key, a, b)
	}
}

func forceCompleteRecords(p *probe) {
	in := p.inspector()
	for _, state := range []idempotency.State{
		idempotency.StateAbsent, idempotency.StateClaimed, idempotency.StateUnknown, idempotency.StateFree,
	} {
		key, a := p.key(state), p.nonce()
		var b idempotency.Begun
		if state != idempotency.StateAbsent {
			b = p.claim(key, a, long)
		}
		switch state {
		case idempotency.StateUnknown:
			p.doubt(key, a, long)
		case idempotency.StateFree:
			p.must(p.releaseAs(idempotency.ReleaseRequest{Key: key, Nonce: a, NotBefore: long}), "release with a not-before time")
		}
		r := p.record(p.nonce(), idempotency.Begun{Fence: b.Fence, Attempt: 3}, "forced")
		done, err := in.ForceComplete(p.ctx(), idempotency.CompleteRequest{Key: key, Record: r, Retention: long})
		p.must(err, "force-complete")
		if !done {
			p.Fatalf("force-complete of a key that is %s says that it did nothing", state)
		}
		got := p.finds(key, idempotency.StateCompleted).Record
		if got.Fence <= b.Fence {
			p.Fatalf("a forced outcome has the fence %d, over a claim with %d", got.Fence, b.Fence)
		}
		r.Fence = got.Fence
		p.same(got, r)
		_, err = p.complete(key, p.record(a, b, "late"))
		p.fails(err, lock.ErrTaken, "complete by the owner after an operator completed the key")
		p.fails(p.renew(key, a, long), lock.ErrTaken, "renew by the owner after an operator completed the key")
		p.fails(p.release(key, a), lock.ErrTaken, "release by the owner after an operator completed the key")
		p.holds(key, r)
	}
}

func releaseDeadFrees(p *probe) {
	in := p.inspector()
	for _, unknown := range []bool{false, true} {
		key, a := p.key(unknown), p.nonce()
		b := p.claim(key, a, long)
		if unknown {
			p.doubt(key, a, long)
		}
		done, err := in.ReleaseDead(p.ctx(), key, a, long)
		p.must(err, "release of a dead claim")
		if !done {
			p.Fatalf("the release of a dead claim (unknown outcome: %t) says that it did nothing", unknown)
		}
		p.looks(key, idempotency.StateFree, a, long, false)
		p.gone(key, a, b)
	}
}
