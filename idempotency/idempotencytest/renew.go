package idempotencytest

import (
	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/lock"
)

func renewLaws() []law {
	return []law{{
		name: "RenewProlongs",
		why:  "a run that takes longer than its lease keeps its claim as long as it is renewed",
		test: func(p *probe) {
			key, nonce := p.alive(func(key idempotency.Digest, nonce idempotency.Nonce) error {
				return p.renew(key, nonce, long)
			})
			p.outlast(short)
			p.owns(key, nonce)
		},
	}, {
		name: "RenewArmsLease",
		why:  "a renewal arms the lease, it does not add to it: claims that are renewed often must not outlive their owner by hours",
		test: func(p *probe) {
			key, _ := p.alive(func(key idempotency.Digest, nonce idempotency.Nonce) error {
				for range 3 {
					if err := p.renew(key, nonce, short); err != nil {
						return err
					}
				}
				return nil
			})
			p.outlast(short)
			p.claim(key, p.nonce(), long)
		},
	}, {
		name: "RenewNeverShortens",
		why:  "a renewal that arrives late, or asks for less, must not cut what an earlier answer promised",
		test: func(p *probe) {
			key, a := p.key(), p.nonce()
			p.claim(key, a, long)
			p.must(p.renew(key, a, short), "renew by the owner")
			p.outlast(short)
			p.owns(key, a)
		},
	}, {
		name: "RenewNeverRevives",
		why:  "a claim that has ended is not the owner's any more: a renewal that revives it makes a second owner beside who came meanwhile",
		test: func(p *probe) {
			ended, given, never := p.key("ended"), p.key("given"), p.key("never")
			a := p.nonce()
			p.fails(p.renew(never, a, long), lock.ErrExpired, "renew of a key that nobody ever claimed")
			p.claim(ended, a, short)
			p.outlast(short)
			p.fails(p.renew(ended, a, long), lock.ErrExpired, "renew after the lease was over")
			p.claim(given, a, long)
			p.give(given, a)
			p.fails(p.renew(given, a, long), lock.ErrExpired, "renew after the release")
			p.fails(p.renew(given, p.nonce(), long), lock.ErrExpired, "renew of a free key by a stranger")
			for _, key := range []idempotency.Digest{never, ended, given} {
				b := p.nonce()
				p.claim(key, b, long)
				p.owns(key, b)
			}
		},
	}, {
		name: "RenewByOtherIsTaken",
		why:  "a late owner must learn that another has the key, and must not keep the other's claim alive",
		test: func(p *probe) {
			key, b := p.key(), p.nonce()
			p.claim(key, b, short)
			p.outlast(short)
			p.claim(key, p.nonce(), short)
			if err := p.renew(key, b, long); err == nil {
				p.Fatal("renew by the former owner returned nil")
			}
			p.outlast(short)
			p.claim(key, b, long)
			p.fails(p.renew(key, p.nonce(), long), lock.ErrTaken, "renew by a stranger")
		},
	}, {
		name: "RenewOfCompletedIsTaken",
		why:  "a renewal under way when its run completed must neither claim the key again nor change how long the record is kept",
		test: func(p *probe) {
			key, a := p.key(), p.nonce()
			r := p.record(a, p.claim(key, a, long), "body")
			_, err := p.store.Complete(p.ctx(), idempotency.CompleteRequest{Key: key, Record: r, Retention: short})
			p.must(err, "complete by the owner")
			for _, n := range []idempotency.Nonce{a, p.nonce()} {
				if err := p.renew(key, n, long); err == nil {
					p.Fatal("renew of a completed key returned nil")
				}
			}
			p.outlast(short)
			p.claim(key, p.nonce(), long)

			key = p.key("kept")
			r = p.run(key, "kept")
			p.fails(p.renew(key, r.Nonce, short), lock.ErrTaken, "renew of a completed key by who completed it")
			p.fails(p.renew(key, p.nonce(), short), lock.ErrTaken, "renew of a completed key by a stranger")
			p.outlast(short)
			p.holds(key, r)
		},
	}}
}
