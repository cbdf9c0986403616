package idempotencytest

import (
	"github.com/semel-go/semel/idempotency"
)

// fenceLaw is a law on the way from one owner of a key to the next: over makes
// nonce, which has claimed the key with b, its owner no more.
func fenceLaw(
	name, way string, needs []ability, over func(p *probe, key idempotency.Digest, nonce idempotency.Nonce, b idempotency.Begun),
) law {
	return law{
		name: name,
		why: "a resource refuses a fence lower than the last it saw, so every owner's must be greater than all before it, " +
			way,
		needs: needs,
		test: func(p *probe) {
			key, last := p.key(), uint64(0)
			for range 4 {
				a := p.nonce()
				b := p.claim(key, a, long)
				if b.Fence <= last {
					p.Fatalf("a claim was given the fence %d after %d", b.Fence, last)
				}
				last = b.Fence
				over(p, key, a, b)
			}
		},
	}
}

func fenceLaws() []law {
	return []law{
		fenceLaw("FenceRisesAcrossRelease", "across a release", nil,
			func(p *probe, key idempotency.Digest, nonce idempotency.Nonce, _ idempotency.Begun) {
				p.give(key, nonce)
			}),
		fenceLaw("FenceRisesAcrossExpiry", "also when the store has forgotten the key", nil,
			func(p *probe, key idempotency.Digest, nonce idempotency.Nonce, _ idempotency.Begun) {
				p.give(key, nonce)
				p.claim(key, p.nonce(), short)
				p.outlast(short)
			}),
		fenceLaw("FenceRisesAcrossRetention", "also when a record has ended", nil,
			func(p *probe, key idempotency.Digest, nonce idempotency.Nonce, b idempotency.Begun) {
				_, err := p.store.Complete(p.ctx(), idempotency.CompleteRequest{
					Key: key, Record: p.record(nonce, b, "body"), Retention: short,
				})
				p.must(err, "complete by the owner")
				p.outlast(short)
			}),
		fenceLaw("FenceRisesAcrossUnknown", "also when an unknown outcome has ended", nil,
			func(p *probe, key idempotency.Digest, nonce idempotency.Nonce, _ idempotency.Begun) {
				p.doubt(key, nonce, short)
				p.outlast(short)
			}),
		fenceLaw("FenceRisesAcrossCompensation", "also when an undone begin wrote over what the last owner left", nil,
			func(p *probe, key idempotency.Digest, nonce idempotency.Nonce, _ idempotency.Begun) {
				p.give(key, nonce)
				p.must(p.compensate(key, p.nonce()), "compensation of a key that another gave back")
			}),
		fenceLaw("FenceRisesAcrossForget", "also when an operator forgot the record", []ability{inspection},
			func(p *probe, key idempotency.Digest, nonce idempotency.Nonce, b idempotency.Begun) {
				p.finish(key, p.record(nonce, b, "body"))
				_, err := p.store.(idempotency.Inspector).Forget(p.ctx(), key, long)
				p.must(err, "forget")
			}),
		{
			name: "FenceRisesAcrossRewind",
			why: "a store that lost its last writes, or all of them, must not give a fence again: " +
				"the resource would take an older owner's writes for the new one's",
			test: fenceRisesAcrossRewind,
		},
	}
}

func fenceRisesAcrossRewind(p *probe) {
	if p.hold.Rewind == nil {
		p.Skip("the harness has no Rewind")
	}
	// The key a is known at the snapshot, the key b is not.
	last := map[string]uint64{}
	use := func(names ...string) {
		for _, name := range names {
			for range 10 {
				a := p.nonce()
				b := p.claim(p.key(name), a, long)
				if b.Fence <= last[name] {
					p.Fatalf("a claim was given the fence %d after %d", b.Fence, last[name])
				}
				last[name] = b.Fence
				p.give(p.key(name), a)
			}
		}
	}
	use("a")
	restore := p.hold.Rewind()
	use("a", "b")
	p.advance(idempotency.MinLease) // no store is back in no time
	p.store = restore()
	use("a", "b")
}
