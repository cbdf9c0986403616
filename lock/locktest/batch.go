package locktest

import (
	"errors"
	"fmt"

	"github.com/semel-go/semel/lock"
)

func batchLaws() []law {
	return []law{{
		name:  "BatchEqualsSingle",
		why:   "a lease is renewed the same whether alone or with others: one that is lost must not make its neighbours lost, nor hide behind them",
		needs: []ability{batch},
		test:  batchEqualsSingle,
	}, {
		name:  "BatchProlongs",
		why:   "each lease of a batch lasts as long as it was extended for",
		needs: []ability{batch},
		test: func(p *probe) {
			reqs := make([]lock.Request, 100)
			for i := range reqs {
				reqs[i] = lock.Request{Key: fmt.Sprint("key", i), Nonce: p.nonce(), TTL: long}
				p.take(reqs[i].Key, reqs[i].Nonce, long/2)
			}
			_, errs := p.extendBatch(reqs)
			for i, err := range errs {
				p.must(err, fmt.Sprintf("extend of lease %d of a batch", i))
				if left := p.refused(reqs[i].Key, false).Remaining; left <= long/2 {
					p.Fatalf("lease %d of a batch extended by %v has %v left", i, long, left)
				}
			}
		},
	}}
}

// extendBatch extends all of reqs, in one batch for each node.
func (p *probe) extendBatch(reqs []lock.Request) ([]lock.Grant, []error) {
	p.Helper()
	b := p.backend.(lock.BatchExtender)
	places := map[string][]int{}
	for i, r := range reqs {
		node := b.Node(r.Key)
		places[node] = append(places[node], i)
	}
	grants, errs := make([]lock.Grant, len(reqs)), make([]error, len(reqs))
	for _, at := range places {
		part := make([]lock.Request, len(at))
		for i, place := range at {
			part[i] = reqs[place]
		}
		partGrants, partErrs := b.ExtendBatch(p.ctx(), part)
		if len(partGrants) != len(part) || len(partErrs) != len(part) {
			p.Fatalf("a batch of %d returned %d grants and %d errors", len(part), len(partGrants), len(partErrs))
		}
		for i, place := range at {
			grants[place], errs[place] = partGrants[i], partErrs[i]
		}
	}
	return grants, errs
}

func batchEqualsSingle(p *probe) {
	var (
		reqs  []lock.Request
		wants []error
		waits []bool
	)
	add := func(kind string, i int, want error, prepare func(key, nonce string)) {
		r := lock.Request{Key: fmt.Sprint(kind, i), Nonce: p.nonce(), TTL: long, Block: uint64(i % 3)}
		prepare(r.Key, r.Nonce)
		reqs, wants, waits = append(reqs, r), append(wants, want), append(waits, kind == "waited")
	}
	for i := range 10 {
		add("held", i, nil, func(key, nonce string) { p.take(key, nonce, long) })
		add("absent", i, lock.ErrExpired, func(string, string) {})
		add("waited", i, nil, func(key, nonce string) {
			p.take(key, nonce, long)
			p.refused(key, true)
		})
		add("taken", i, lock.ErrTaken, func(key, _ string) { p.take(key, p.nonce(), long) })
		add("kept", i, lock.ErrExpired, func(key, nonce string) {
			p.take(key, nonce, long)
			p.keep(key, nonce, long)
		})
		add("free", i, lock.ErrExpired, func(key, nonce string) {
			p.take(key, nonce, long)
			p.give(key, nonce)
		})
	}
	grants, errs := p.extendBatch(reqs)
	for i, r := range reqs {
		alone, err := p.backend.Extend(p.ctx(), r)
		for _, got := range []error{errs[i], err} {
			if !errors.Is(got, wants[i]) {
				p.Fatalf("extend of the key %q returned %v in a batch and %v alone, want %v", r.Key, errs[i], err, wants[i])
			}
		}
		if wants[i] != nil {
			continue
		}
		if g := grants[i]; g.Block != r.Block || g.Waiters != waits[i] {
			p.Fatalf("a batch granted %d fences to the key %q and said waiters=%t, want %d, %t",
				g.Block, r.Key, g.Waiters, r.Block, waits[i])
		}
		if p.features.Fencing && r.Block > 0 && alone.Fence < grants[i].Fence+grants[i].Block {
			p.Fatalf("the fences that a batch reserved for the key %q were reserved again alone", r.Key)
		}
	}
}
