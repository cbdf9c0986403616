package locktest

import (
	"github.com/semel-go/semel/lock"
)

func compensationLaws() []law {
	return []law{{
		name: "CompensationSpendsNonce",
		why:  "an acquire that was given up may still be on its way: undone before it arrives, it must be refused when it does",
		test: func(p *probe) {
			a := p.nonce()
			p.must(p.compensate("absent", a), "compensation of a key that is absent")
			_, err := p.acquire("absent", a, long)
			p.fails(err, lock.ErrSpent, "the late copy of an acquire that was undone")
			p.must(p.compensate("absent", a), "compensation sent twice")
			p.must(p.release("absent", a), "release after compensation")
			_, err = p.extend("absent", a, long)
			p.fails(err, lock.ErrExpired, "extend after compensation")
		},
	}, {
		name: "CompensationIsInvisible",
		why:  "what an undone acquire leaves behind must not keep anybody else from the key",
		test: func(p *probe) {
			a, b := p.nonce(), p.nonce()
			p.must(p.compensate("key", a), "compensation of a key that is absent")
			p.fails(p.release("key", b), lock.ErrExpired, "release by a stranger after compensation")
			p.take("key", b, long)
			p.owns("key", b)
			p.fails(p.compensate("key", a), lock.ErrTaken, "compensation when another holds the key")
			p.owns("key", b)
		},
	}, {
		name: "CompensationFreesOwn",
		why:  "an acquire that succeeded without its asker knowing must be undone, or nobody owns the key until its TTL is over",
		test: func(p *probe) {
			a, b := p.nonce(), p.nonce()
			p.take("key", a, long)
			p.must(p.compensate("key", a), "compensation of a grant that was never seen")
			_, err := p.acquire("key", a, long)
			p.fails(err, lock.ErrSpent, "the late copy of an acquire that was undone")
			p.take("key", b, long)
			p.owns("key", b)
		},
	}, {
		name: "CompensationLeavesOthers",
		why:  "undoing an ask that was refused must not touch who owns the key",
		test: func(p *probe) {
			b := p.nonce()
			p.take("key", b, long)
			p.fails(p.compensate("key", p.nonce()), lock.ErrTaken, "compensation when another holds the key")
			p.owns("key", b)

			p.take("expiring", p.nonce(), p.short)
			_ = p.compensate("expiring", p.nonce())
			p.outlast(p.short)
			p.take("expiring", p.nonce(), long)
		},
	}, {
		name: "CompensationOnFree",
		why:  "a key that another gave back is as good as absent: the late copy must be refused there too",
		test: func(p *probe) {
			a, b := p.nonce(), p.nonce()
			p.take("key", b, long)
			p.give("key", b)
			p.must(p.compensate("key", a), "compensation of a key that another gave back")
			_, err := p.acquire("key", a, long)
			p.fails(err, lock.ErrSpent, "the late copy of an acquire that was undone")
			p.take("key", p.nonce(), long)
		},
	}}
}
