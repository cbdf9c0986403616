package idempotency

import (
	"context"
	"time"

	"github.com/semel-go/semel/internal/keeper"
	"github.com/semel-go/semel/observe"
)

// release is one request to end a claim without an outcome.
type release struct {
	keeper.Call
	core *core
	req  ReleaseRequest
	err  error
}

// Run asks the store; keeper.Op.
func (x *release) Run(ctx context.Context) { x.err = x.core.store.Release(ctx, x.req) }

// Late has nothing to do: if the request arrived, the key is free, and if it
// did not, it will be after its lease.
func (x *release) Late() {}

func (x *release) send(ctx context.Context, timeout time.Duration) error {
	return answer(ctx, x.core, "release", timeout, x, &x.Call, &x.err)
}

// release frees the key, after the time that RetryAfter put into err if it did.
// If the store does not answer, the lease ends it.
func (c *Claim) release(err error) {
	k := c.core.keeper
	if !k.Enter() {
		return // closed under the run: the lease ends it
	}
	defer k.Exit()
	c.settle()
	c.hold.Drop()
	x := &release{core: c.core, req: ReleaseRequest{Key: c.digest, Nonce: c.nonce, TTL: c.o.StubFor}}
	if after, ok := RetryDelay(err); ok && after > 0 {
		x.req.NotBefore = min(after, MaxRetention)
	}
	x.Bound = c.parent.Done() != nil
	failed := x.send(context.WithoutCancel(c.parent), c.o.Timeout)
	c.core.lines.Nudge(string(c.digest[:]))
	c.tell(observe.RunFailed, err)
	if failed != nil && !isLost(failed) {
		c.tell(observe.ReleaseFailed, failed)
	}
}

// holdUnknown holds the key as one whose outcome is unknown. Like an outcome,
// that must not be lost.
func (c *Claim) holdUnknown(err error) {
	c.settle()
	c.insist(c.o.CompleteFor, &declaration{c, err})
}

// declaration says that a run's outcome is unknown.
type declaration struct {
	claim *Claim
	err   error // the run's own
}

// try says it; insistent.
func (x *declaration) try() error {
	c := x.claim
	req := &release{core: c.core, req: ReleaseRequest{
		Key: c.digest, Nonce: c.nonce, TTL: c.o.StubFor, Unknown: c.o.UnknownFor,
	}}
	req.Bound = true
	return req.send(context.WithoutCancel(c.parent), c.o.Timeout)
}

// done wakes who waits for the key; insistent.
func (x *declaration) done(refused error) {
	c := x.claim
	c.core.lines.Nudge(string(c.digest[:]))
	if refused == nil {
		c.tell(observe.RunUnknown, x.err)
	} else if isLost(refused) {
		c.tell(observe.CompleteRefused, refused)
	}
}
