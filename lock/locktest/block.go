package locktest

import (
	"slices"
	"sync"

	"github.com/semel-go/semel/lock"
)

// wide is a block so large that a store whose fences follow a clock would need
// a quarter of an hour to pass it: what happens to its fences can be seen.
const wide = 1 << 30

func blockLaws() []law {
	return []law{{
		name:  "BlockIsWhole",
		why:   "the owner gives the fences of its block to its successors in the same process: it must have as many as it was told",
		needs: []ability{fencing},
		test: func(p *probe) {
			// The last is so many that a store which follows a clock and reserves
			// less than it says cannot have passed them by the time of the next.
			for _, n := range []uint64{1, 2, 64, 1000, 1 << 24} {
				a := p.nonce()
				g := p.reserve("key", a, long, n)
				if g.Block != n || g.Fence == 0 {
					p.Fatalf("an acquire of %d fences was granted %d from %d", n, g.Block, g.Fence)
				}
				e, err := p.backend.Extend(p.ctx(), lock.Request{Key: "key", Nonce: a, TTL: long, Block: n})
				p.must(err, "extend with a block by the owner")
				if e.Block != n || e.Fence < g.Fence+n {
					p.Fatalf("an extend by %d fences was granted %d from %d, after %d from %d", n, e.Block, e.Fence, g.Block, g.Fence)
				}
				p.give("key", a)
			}
		},
	}, {
		name:  "BlocksNeverOverlap",
		why:   "no fence is given twice, also when reservations of one key meet: two owners with one fence cannot be told apart",
		needs: []ability{fencing},
		test:  blocksNeverOverlap,
	}, {
		name:  "ReleaseGivesBackFences",
		why:   "a block of which one fence was used must not push the fences of the key further ahead of the clock each time",
		needs: []ability{fencing},
		test: func(p *probe) {
			a := p.nonce()
			g := p.reserve("key", a, long, wide)
			err := p.backend.Release(p.ctx(), lock.ReleaseRequest{Key: "key", Nonce: a, TTL: long, Fence: g.Fence})
			p.must(err, "release by the owner")
			if next := p.take("key", p.nonce(), long); next.Fence >= g.Fence+wide {
				p.Fatalf("the fence after a release that gave back all but %d is %d", g.Fence, next.Fence)
			}
		},
	}, {
		name:  "ReleaseKeepsGivenFences",
		why:   "fences that were given out are used, whatever the release gives back",
		needs: []ability{fencing},
		test: func(p *probe) {
			for _, r := range []struct {
				what string
				// given is the last fence given out, counted from the block's
				// first; sent is what the release says.
				given, sent uint64
			}{
				{"the middle of its block", wide / 2, wide / 2},
				{"the end of its block", wide - 1, wide - 1},
				{"no fence", wide - 1, 0},
			} {
				a := p.nonce()
				g := p.reserve("key", a, long, wide)
				req := lock.ReleaseRequest{Key: "key", Nonce: a, TTL: long}
				if r.sent > 0 {
					req.Fence = g.Fence + r.sent
				}
				p.must(p.backend.Release(p.ctx(), req), "release by the owner")
				b := p.nonce()
				next := p.take("key", b, long)
				if next.Fence <= g.Fence+r.given {
					p.Fatalf("the fence after a release that named %s is %d, not greater than %d, which was given out",
						r.what, next.Fence, g.Fence+r.given)
				}
				p.give("key", b)
			}
		},
	}}
}

func blocksNeverOverlap(p *probe) {
	type block struct{ first, last uint64 }
	var (
		mu     sync.Mutex
		blocks []block
	)
	note := func(g lock.Grant) {
		mu.Lock()
		defer mu.Unlock()
		blocks = append(blocks, block{g.Fence, g.Fence + g.Block - 1})
	}
	for range 4 {
		a := p.nonce()
		note(p.reserve("key", a, long, 5))
		ctx := p.ctx()
		errs := make([]error, 8)
		var extending sync.WaitGroup
		for i := range errs {
			extending.Go(func() {
				for n := range uint64(10) {
					g, err := p.backend.Extend(ctx, lock.Request{Key: "key", Nonce: a, TTL: long, Block: 1 + n%4})
					if err != nil {
						errs[i] = err
						return
					}
					note(g)
				}
			})
		}
		extending.Wait()
		for _, err := range errs {
			p.must(err, "extend with a block by the owner")
		}
		p.give("key", a)
	}
	slices.SortFunc(blocks, func(x, y block) int {
		if x.first < y.first {
			return -1
		}
		return 1
	})
	for i := 1; i < len(blocks); i++ {
		if blocks[i].first <= blocks[i-1].last {
			p.Fatalf("the fences %d to %d and %d to %d were reserved for one key",
				blocks[i-1].first, blocks[i-1].last, blocks[i].first, blocks[i].last)
		}
	}
}
