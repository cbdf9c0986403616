package keeper

import (
	"context"
	"time"
)

// batch is one round trip of renewals: holdings of one server and one TTL, so
// that the deadline of a short lease is not that of a long one.
type batch struct {
	Call
	k     *Keeper
	hs    []*Holding
	start Instant
	errs  []error
}

// batches groups holdings. Those whose last renewal failed go alone: what made
// it fail may be one of them. k.mu is held.
func (k *Keeper) batches(due []*Holding) []*batch {
	if len(due) == 0 {
		return nil
	}
	type group struct {
		node string
		ttl  time.Duration
	}
	var all []*batch
	filling := make(map[group]*batch)
	for _, h := range due {
		if h.fails > 0 {
			all = append(all, &batch{k: k, hs: []*Holding{h}})
			continue
		}
		g := group{k.cfg.Node(h), h.TTL}
		b := filling[g]
		if b == nil || len(b.hs) == maxBatch {
			b = &batch{k: k}
			filling[g] = b
			all = append(all, b)
		}
		b.hs = append(b.hs, h)
	}
	return all
}

// renew runs the batch. Its deadline is a sixth of the TTL, so that there is
// time for more tries before the window closes.
func (b *batch) renew() {
	k := b.k
	defer k.Exit()
	b.start, b.Bound = Now(), true
	ran, finished := k.Do(context.Background(), b.hs[0].TTL/6, b, &b.Call)
	for i, h := range b.hs {
		err := context.DeadlineExceeded
		switch {
		case !ran:
			err = context.Canceled
		case finished:
			err = b.errs[i]
		}
		h.End(b.start, h.TTL, err)
		b.tell(h, err)
	}
}

func (b *batch) tell(h *Holding, err error) {
	switch {
	case err == nil:
		h.Owner.Renewed()
	case !b.k.cfg.IsLost(err):
		h.Owner.RenewFailed(err)
	}
}

// Run asks the store.
func (b *batch) Run(ctx context.Context) { b.errs = b.k.cfg.Renew(ctx, b.hs) }

// Late applies an answer that came after the deadline: it is as true as one
// that came in time.
func (b *batch) Late() {
	for i, h := range b.hs {
		if err := b.errs[i]; err == nil || b.k.cfg.IsLost(err) {
			h.Apply(b.start, h.TTL, err)
		}
	}
}
