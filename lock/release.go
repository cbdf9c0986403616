package lock

import (
	"context"
	"time"

	"github.com/semel-go/semel/internal/keeper"
)

// release is one request to give a key back.
type release struct {
	keeper.Call
	core *core
	req  ReleaseRequest
	err  error
}

// Run asks the store.
func (r *release) Run(ctx context.Context) { r.err = r.core.backend.Release(ctx, r.req) }

// Late has nothing to do: if the release arrived, the key is free, and if it
// did not, it will be after its TTL.
func (r *release) Late() {}

// send makes the request and waits at most timeout for its answer.
func (r *release) send(ctx context.Context, timeout time.Duration) error {
	ran, finished := r.core.keeper.Do(ctx, timeout, r, &r.Call)
	switch {
	case !ran:
		return ErrClosed
	case !finished:
		return unanswered(ctx, "release")
	case r.err != nil && !isLost(r.err):
		return unavailable("release", r.err)
	}
	return r.err
}

// giveBack ends l's grant in the store and then lets the next caller of this
// process ask for the key.
func (c *core) giveBack(ctx context.Context, bound bool, l *Lease, keep time.Duration) error {
	g := l.grant
	s := c.lines.Shard(g.key)
	s.Lock()
	g.sent = true
	yields := g.rivals
	s.Unlock()
	g.Drop()
	r := &release{core: c, req: ReleaseRequest{Key: g.key, Nonce: g.nonce, TTL: g.TTL, Fence: l.fence}}
	r.Bound = bound
	if keep > 0 {
		r.req.Keep = max(keep, MinTTL)
	}
	err := r.send(ctx, l.o.Timeout)
	if !yields || !c.keeper.Go(func() { c.keeper.Pause(yieldTime); c.lines.Vacate(g.key, g) }) {
		c.lines.Vacate(g.key, g)
	}
	return err
}
