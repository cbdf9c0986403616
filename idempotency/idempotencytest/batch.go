package idempotencytest

import (
	"errors"
	"fmt"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/lock"
)

func batchLaws() []law {
	return []law{{
		name:  "BatchEqualsSingle",
		why:   "a claim is renewed the same whether alone or with others: one that is lost must not make its neighbours lost, nor hide behind them",
		needs: []ability{batch},
		test:  batchEqualsSingle,
	}, {
		name:  "BatchProlongs",
		why:   "each claim of a batch lasts as long as it was renewed for",
		needs: []ability{batch},
		test: func(p *probe) {
			rs := make([]idempotency.RenewRequest, 100)
			for i := range rs {
				rs[i] = idempotency.RenewRequest{Key: p.key(i), Nonce: p.nonce(), Lease: long}
				p.claim(rs[i].Key, rs[i].Nonce, long/2)
			}
			for i, err := range p.renewBatch(rs) {
				p.must(err, fmt.Sprintf("renewal of claim %d of a batch", i))
				if left := p.finds(rs[i].Key, idempotency.StateHeld).Remaining; left <= long/2 {
					p.Fatalf("claim %d of a batch renewed for %v has %v left", i, long, left)
				}
			}
		},
	}}
}

// renewBatch renews all of rs, in one batch for each node.
func (p *probe) renewBatch(rs []idempotency.RenewRequest) []error {
	p.Helper()
	b, ok := p.store.(idempotency.BatchRenewer)
	if !ok {
		p.Fatal("the store's features include batches, but it is no idempotency.BatchRenewer")
	}
	places := map[string][]int{}
	for i, r := range rs {
		node := b.Node(r.Key)
		places[node] = append(places[node], i)
	}
	errs := make([]error, len(rs))
	for _, at := range places {
		part := make([]idempotency.RenewRequest, len(at))
		for i, place := range at {
			part[i] = rs[place]
		}
		got := b.RenewBatch(p.ctx(), part)
		if len(got) != len(part) {
			p.Fatalf("a batch of %d returned %d errors", len(part), len(got))
		}
		for i, place := range at {
			errs[place] = got[i]
		}
	}
	return errs
}

func batchEqualsSingle(p *probe) {
	var (
		rs    []idempotency.RenewRequest
		wants []error
	)
	add := func(kind string, i int, want error, prepare func(key idempotency.Digest, nonce idempotency.Nonce)) {
		r := idempotency.RenewRequest{Key: p.key(kind, i), Nonce: p.nonce(), Lease: long}
		prepare(r.Key, r.Nonce)
		rs, wants = append(rs, r), append(wants, want)
	}
	for i := range 10 {
		add("claimed", i, nil, func(k idempotency.Digest, a idempotency.Nonce) { p.claim(k, a, long) })
		add("absent", i, lock.ErrExpired, func(idempotency.Digest, idempotency.Nonce) {})
		add("taken", i, lock.ErrTaken, func(k idempotency.Digest, _ idempotency.Nonce) { p.claimed(k) })
		add("free", i, lock.ErrExpired, func(k idempotency.Digest, a idempotency.Nonce) {
			p.claim(k, a, long)
			p.give(k, a)
		})
		add("unknown", i, lock.ErrTaken, func(k idempotency.Digest, a idempotency.Nonce) {
			p.claim(k, a, long)
			p.doubt(k, a, long)
		})
		add("completed", i, lock.ErrTaken, func(k idempotency.Digest, a idempotency.Nonce) {
			p.finish(k, p.record(a, p.claim(k, a, long), "body"))
		})
		add("invalid", i, idempotency.ErrInvalid, func(k idempotency.Digest, a idempotency.Nonce) { p.claim(k, a, long) })
		rs[len(rs)-1].Lease = -1
	}
	for i, err := range p.renewBatch(rs) {
		alone := p.store.Renew(p.ctx(), rs[i])
		if !errors.Is(err, wants[i]) || !errors.Is(alone, wants[i]) {
			p.Fatalf("renew returned %v in a batch and %v alone, want %v", err, alone, wants[i])
		}
	}
}
