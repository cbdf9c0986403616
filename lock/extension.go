package lock

import (
	"context"

	"github.com/semel-go/semel/internal/keeper"
)

// extension is one request to extend a grant, made between Begin (or TryBegin)
// and End of its holding.
type extension struct {
	keeper.Call
	lease  *Lease // whose turn it is
	req    Request
	start  keeper.Instant
	answer Grant
	err    error
}

// send makes the request and tells the holding its result.
func (x *extension) send(ctx context.Context) error {
	g := x.lease.grant
	x.start = keeper.Now()
	ran, finished := g.core.keeper.Do(ctx, x.lease.o.Timeout, x, &x.Call)
	var err error
	switch {
	case !ran:
		err = ErrClosed
	case !finished:
		err = unanswered(ctx, "extend")
	case x.err != nil:
		err = x.err
		if !isLost(err) {
			err = unavailable("extend", err)
		}
	}
	g.End(x.start, x.req.TTL, err)
	return err
}

// Run asks the store.
func (x *extension) Run(ctx context.Context) {
	x.answer, x.err = x.lease.grant.core.backend.Extend(ctx, x.req)
}

// Late uses an answer that nobody waited for: it is as true as any other.
func (x *extension) Late() {
	if x.err == nil || isLost(x.err) {
		x.lease.grant.Apply(x.start, x.req.TTL, x.err)
	}
}
