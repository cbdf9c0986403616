package locktest

import (
	"errors"
	"time"

	"github.com/semel-go/semel/lock"
)

func extendLaws() []law {
	return []law{{
		name: "ExtendProlongs",
		why:  "a lease whose owner is at work lasts beyond its first TTL",
		test: func(p *probe) {
			key, a := p.alive(func(key, nonce string) error {
				_, err := p.extend(key, nonce, long)
				return err
			})
			p.outlast(p.short)
			p.owns(key, a)
		},
	}, {
		name: "ExtendArmsTTL",
		why:  "an extension lasts for its TTL from now on and no longer: a dead owner's key frees itself in time",
		test: func(p *probe) {
			key, _ := p.alive(func(key, nonce string) error {
				for range 3 {
					if _, err := p.extend(key, nonce, p.short); err != nil {
						return err
					}
				}
				return nil
			})
			p.outlast(p.short)
			p.take(key, p.nonce(), long)
		},
	}, {
		name: "ExtendNeverShortens",
		why:  "two extensions may overtake each other: the owner trusts the longer one",
		test: func(p *probe) {
			a := p.nonce()
			p.take("key", a, long)
			_, err := p.extend("key", a, p.short)
			p.must(err, "extend by the owner")
			_, err = p.backend.Extend(p.ctx(), lock.Request{Key: "key", Nonce: a, TTL: p.short, Block: 3})
			p.must(err, "extend with a block by the owner")
			p.outlast(p.short)
			p.owns("key", a)
		},
	}, {
		name: "ExtendNeverRevives",
		why:  "what is over is over: between the end and the late extend another may have come and gone",
		test: func(p *probe) {
			a := p.nonce()
			_, err := p.extend("never", a, long)
			p.fails(err, lock.ErrExpired, "extend of a key that nobody ever held")
			p.take("never", p.nonce(), long)

			p.take("expired", a, p.short)
			p.outlast(p.short)
			_, err = p.extend("expired", a, long)
			p.fails(err, lock.ErrExpired, "extend after the TTL was over")
			p.take("expired", p.nonce(), long)

			p.take("released", a, long)
			p.give("released", a)
			_, err = p.extend("released", a, long)
			p.fails(err, lock.ErrExpired, "extend after the release")
			_, err = p.extend("released", p.nonce(), long)
			p.fails(err, lock.ErrExpired, "extend of a key that another gave back")
			p.take("released", p.nonce(), long)
		},
	}, {
		name: "ExtendByOtherIsTaken",
		why:  "a former owner that goes on renewing must learn that it lost, and not keep its successor's key alive",
		test: func(p *probe) {
			a, b := p.nonce(), p.nonce()
			p.take("key", a, p.short)
			p.outlast(p.short)
			m := p.now()
			p.take("key", b, p.short)
			_, err := p.extend("key", a, long)
			if p.within(m, p.short) {
				p.fails(err, lock.ErrTaken, "extend by the former owner")
			} else if !errors.Is(err, lock.ErrLost) {
				p.Fatalf("extend by the former owner returned %v", err)
			}
			_, err = p.extend("key", p.nonce(), long)
			p.fails(err, lock.ErrLost, "extend by a stranger")
			p.outlast(p.short)
			p.take("key", p.nonce(), long)
		},
	}, {
		name:  "ExtendWithoutBlockReservesNone",
		why:   "renewals use up no fences",
		needs: []ability{fencing},
		test: func(p *probe) {
			a := p.nonce()
			p.take("key", a, time.Minute)
			g, err := p.extend("key", a, long)
			p.must(err, "extend by the owner")
			if g.Fence != 0 || g.Block != 0 {
				p.Fatalf("extend without a block was granted %d fences from %d", g.Block, g.Fence)
			}
		},
	}}
}
