package locktest

import (
	"github.com/semel-go/semel/lock"
)

func releaseLaws() []law {
	return []law{{
		name: "ReleaseFrees",
		why:  "a key that was given back is granted to the next at once: what remembers the spent nonce is invisible to others",
		test: func(p *probe) {
			for range 5 {
				a := p.nonce()
				p.take("key", a, long)
				p.give("key", a)
			}
			b := p.nonce()
			p.take("key", b, long)
			p.owns("key", b)
		},
	}, {
		name: "ReleaseByOtherIsTaken",
		why:  "an owner whose lease ran out while it slept must not free the key of its successor",
		test: func(p *probe) {
			a, b := p.nonce(), p.nonce()
			p.take("key", a, p.short)
			p.outlast(p.short)
			p.take("key", b, long)
			p.fails(p.release("key", a), lock.ErrTaken, "release by the former owner")
			p.fails(p.release("key", p.nonce()), lock.ErrTaken, "release by a stranger")
			err := p.backend.Release(p.ctx(), lock.ReleaseRequest{Key: "key", Nonce: a, TTL: long, Keep: p.short})
			p.fails(err, lock.ErrTaken, "release with Keep by the former owner")
			p.owns("key", b)
		},
	}, {
		name: "ReleaseOfAbsentIsExpired",
		why:  "who releases a lease that is gone must learn that it was gone: something else may have happened meanwhile",
		test: func(p *probe) {
			a := p.nonce()
			p.fails(p.release("never", a), lock.ErrExpired, "release of a key that nobody ever held")
			p.take("expired", a, p.short)
			p.outlast(p.short)
			p.fails(p.release("expired", a), lock.ErrExpired, "release after the TTL was over")
			p.take("expired", a, long)
		},
	}, {
		name: "ReleaseAfterOthersIsExpired",
		why:  "a key that another gave back is not the asker's to give back: it had lost it before",
		test: func(p *probe) {
			a := p.nonce()
			p.take("key", a, long)
			p.give("key", a)
			p.fails(p.release("key", p.nonce()), lock.ErrExpired, "release of a key that another gave back")
			p.give("key", a)
		},
	}, {
		name: "ReleaseTwiceSucceeds",
		why:  "a release whose reply was lost is sent again: it must not look like a lost lease",
		test: func(p *probe) {
			a, b := p.nonce(), p.nonce()
			p.take("key", a, long)
			for range 3 {
				p.give("key", a)
			}
			p.take("kept", a, long)
			for range 3 {
				p.keep("kept", a, long)
			}
			p.take("key", b, long)
			p.fails(p.release("key", a), lock.ErrTaken, "a third release when another holds the key")
			p.owns("key", b)
		},
	}, {
		name: "SpentNonceIsRefused",
		why:  "a copy of an acquire that arrives after its lease was given back must not take the key for nobody",
		test: func(p *probe) {
			a, b := p.nonce(), p.nonce()
			p.take("key", a, long)
			p.give("key", a)
			for range 2 {
				_, err := p.acquire("key", a, long)
				p.fails(err, lock.ErrSpent, "a copy of the acquire after the release")
			}
			p.give("key", a)
			p.take("key", b, long)
			p.owns("key", b)

			p.take("kept", a, long)
			p.keep("kept", a, long)
			_, err := p.acquire("kept", a, long)
			p.fails(err, lock.ErrSpent, "a copy of the acquire after a release that keeps the key")
		},
	}}
}

func keptLaws() []law {
	return []law{{
		name: "KeptIsNotGranted",
		why:  "a job that ended early keeps its slot, so that a worker whose clock is behind does not run it again",
		test: func(p *probe) {
			a, m := p.nonce(), p.now()
			p.take("key", a, long)
			p.keep("key", a, p.short)
			p.advance(p.short / 2)
			if _, err := p.acquire("key", p.nonce(), long); err == nil && p.within(m, p.short) {
				p.Fatal("a key that is kept was granted")
			}
			key, _ := p.alive(func(key, nonce string) error {
				return p.backend.Release(p.ctx(), lock.ReleaseRequest{Key: key, Nonce: nonce, TTL: long, Keep: long})
			})
			p.outlast(p.short)
			p.refused(key, false)
		},
	}, {
		name: "KeptEnds",
		why:  "a key is kept for as long as was asked and no longer, whatever the TTL of its lease was",
		test: func(p *probe) {
			a := p.nonce()
			p.take("key", a, long)
			p.keep("key", a, p.short)
			p.outlast(p.short)
			p.take("key", p.nonce(), long)
		},
	}, {
		name: "KeptCannotBeExtended",
		why:  "a renewal that was under way when its lease was given back must not revive it",
		test: func(p *probe) {
			a := p.nonce()
			p.take("key", a, long)
			p.keep("key", a, p.short)
			_, err := p.extend("key", a, long)
			p.fails(err, lock.ErrExpired, "extend of a kept key by its former owner")
			_, err = p.extend("key", p.nonce(), long)
			p.fails(err, lock.ErrLost, "extend of a kept key by a stranger")
			p.outlast(p.short)
			p.take("key", p.nonce(), long)
		},
	}, {
		name: "KeptCannotBeFreed",
		why:  "a second release, a stranger's, or the undoing of an ask must not free what is kept",
		test: func(p *probe) {
			a := p.nonce()
			p.take("key", a, long)
			p.keep("key", a, long)
			p.give("key", a)
			p.refused("key", false)
			p.must(p.compensate("key", a), "compensation by who kept the key")
			p.refused("key", false)
			p.fails(p.release("key", p.nonce()), lock.ErrTaken, "release of a kept key by a stranger")
			p.fails(p.compensate("key", p.nonce()), lock.ErrTaken, "compensation of a kept key by a stranger")
			p.refused("key", false)
		},
	}}
}
