package locktest

import (
	"math"

	"github.com/semel-go/semel/lock"
)

// fenceLaw is a law on the way from one owner of a key to the next: over makes
// nonce, which holds the key with the given fence, its owner no more.
func fenceLaw(name, way string, needs []ability, over func(p *probe, key, nonce string)) law {
	return law{
		name: name,
		why: "a resource refuses a fence lower than the last it saw, so every owner's must be greater than all before it, " +
			way,
		needs: append([]ability{fencing}, needs...),
		test: func(p *probe) {
			var last uint64
			for range 5 {
				a := p.nonce()
				g, err := p.acquire("key", a, long)
				p.must(err, "acquire of a key that nobody owns")
				if g.Fence <= last {
					p.Fatalf("an owner was granted the fence %d after %d", g.Fence, last)
				}
				last = g.Fence
				over(p, "key", a)
			}
		},
	}
}

func fenceLaws() []law {
	return []law{
		fenceLaw("FenceRisesAcrossRelease", "across a release", nil, func(p *probe, key, nonce string) {
			p.give(key, nonce)
		}),
		fenceLaw("FenceRisesAcrossExpiry", "also when the store has forgotten the key", nil, func(p *probe, key, nonce string) {
			p.give(key, nonce)
			b := p.nonce()
			p.take(key, b, p.short)
			p.outlast(p.short)
		}),
		fenceLaw("FenceRisesAcrossKept", "also when the key was kept", nil, func(p *probe, key, nonce string) {
			p.keep(key, nonce, p.short)
			p.outlast(p.short)
		}),
		fenceLaw("FenceRisesAcrossCompensation", "also when an undone acquire wrote over what the last owner left",
			nil, func(p *probe, key, nonce string) {
				p.give(key, nonce)
				p.must(p.compensate(key, p.nonce()), "compensation of a key that another gave back")
			}),
		fenceLaw("FenceRisesAcrossBreak", "also when an operator took the key away", []ability{inspection},
			func(p *probe, key, _ string) {
				p.must(p.backend.(lock.Inspector).Break(p.ctx(), key), "break")
			}),
		{
			name: "FenceRisesAcrossRewind",
			why: "a store that lost its last writes, or all of them, must not give a fence again: " +
				"the resource would take an older owner's writes for the new one's",
			needs: []ability{fencing},
			test:  fenceRisesAcrossRewind,
		}, {
			name:  "RaiseLiftsFence",
			why:   "what a majority agrees on is the greatest of their fences, which each of them must then have passed",
			needs: []ability{fencing, raising},
			test:  raiseLiftsFence,
		},
	}
}

func fenceRisesAcrossRewind(p *probe) {
	if p.store.Rewind == nil {
		p.Skip("the harness has no Rewind")
	}
	// The key a is known at the snapshot, the key b is not.
	last := map[string]uint64{}
	use := func(keys ...string) {
		for _, key := range keys {
			for range 10 {
				nonce := p.nonce()
				g := p.reserve(key, nonce, long, 3)
				if g.Fence <= last[key] {
					p.Fatalf("an owner was granted the fence %d after %d", g.Fence, last[key])
				}
				last[key] = g.Fence + g.Block - 1
				p.give(key, nonce)
			}
		}
	}
	use("a")
	restore := p.store.Rewind()
	use("a", "b")
	p.advance(p.features.MinTTL) // no store is back in no time
	p.backend = restore()
	use("a", "b")
}

func raiseLiftsFence(p *probe) {
	raiser := p.backend.(lock.Raiser)
	a, b := p.nonce(), p.nonce()
	p.fails(raiser.Raise(p.ctx(), "key", a, 1), lock.ErrExpired, "raise of a key that nobody ever held")
	g := p.reserve("key", a, long, 3)
	p.fails(raiser.Raise(p.ctx(), "key", b, math.MaxInt64), lock.ErrTaken, "raise by a stranger")
	// Odd digits at the end, which a conversion to floating point or a short
	// format would lose.
	high := g.Fence + 1<<40 + 7
	p.must(raiser.Raise(p.ctx(), "key", a, high), "raise by the owner")
	p.must(raiser.Raise(p.ctx(), "key", a, g.Fence), "raise to less than the last fence")
	p.owns("key", a)
	// The owner gives back what it was granted, and knows nothing of the raise.
	err := p.backend.Release(p.ctx(), lock.ReleaseRequest{Key: "key", Nonce: a, TTL: long, Fence: g.Fence})
	p.must(err, "release by the owner")
	p.fails(raiser.Raise(p.ctx(), "key", a, high), lock.ErrExpired, "raise after the release")
	for last := high; last < high+20; {
		b = p.nonce()
		next := p.take("key", b, long)
		if next.Fence <= last {
			p.Fatalf("an owner was granted the fence %d after one raised to %d", next.Fence, last)
		}
		last = next.Fence
		p.give("key", b)
	}
}
