package lock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/semel-go/semel/internal/keeper"
	"github.com/semel-go/semel/observe"
)

// ask is one request to acquire, with a nonce of its own, and what becomes of
// it: the grant and its first lease, if the store says yes.
type ask struct {
	keeper.Call
	core   *core
	of     *acquisition
	req    Request
	start  keeper.Instant
	answer Grant
	err    error

	// undone is set when an ask in doubt no longer is: its nonce was spent in
	// the store, or would have expired there.
	undone atomic.Bool

	grant grant
	lease Lease
}

// send asks the store once and waits at most timeout. The error is nil, a
// *HeldError, or an ErrUnavailable; in the last case the ask is in doubt, and
// is undone in the background.
func (a *ask) send(of *acquisition, block uint64, timeout time.Duration) error {
	c, ctx := of.core, of.ctx
	a.core, a.of = c, of
	a.req = Request{Key: of.key, Nonce: rand.Text(), TTL: of.o.TTL, Block: block, Waiting: !of.terms.once}
	a.start = keeper.Now()
	ran, finished := c.keeper.Do(ctx, timeout, a, &a.Call)
	switch {
	case !ran:
		a.undone.Store(true)
		return ErrClosed
	case !finished: // Late will undo it
		return unanswered(ctx, "acquire")
	case a.err == nil:
		return nil
	}
	var held *HeldError
	if errors.As(a.err, &held) {
		a.undone.Store(true)
		return &HeldError{Key: a.req.Key, Remaining: held.Remaining}
	}
	err := a.err
	a.undo()
	var doubt *InDoubtError
	switch {
	case errors.Is(err, ErrInvalid):
		return fmt.Errorf("lock: acquire: %w", err)
	case errors.As(err, &doubt):
		return unanswered(ctx, "acquire")
	}
	return unavailable("acquire", err)
}

// Run asks the store.
func (a *ask) Run(ctx context.Context) { a.answer, a.err = a.core.backend.Acquire(ctx, a.req) }

// Late is called when the answer came after nobody waited for it any more.
func (a *ask) Late() { a.undo() }

// undo makes sure that a's nonce does not own the key, unless the answer says
// that it does not.
func (a *ask) undo() {
	if errors.Is(a.err, ErrNotAcquired) || errors.Is(a.err, ErrSpent) || errors.Is(a.err, ErrInvalid) {
		a.settle()
		return
	}
	var doubt *InDoubtError
	if errors.As(a.err, &doubt) {
		a.core.keeper.UndoAfter(doubt.Settled, a)
		return
	}
	a.core.keeper.Undo(a)
}

// Undo spends a's nonce; keeper.Doubt. An answer that it owns nothing is as
// good as a yes.
func (a *ask) Undo() error {
	r := &release{core: a.core, req: ReleaseRequest{
		Key: a.req.Key, Nonce: a.req.Nonce, TTL: a.req.TTL, Compensate: true,
	}}
	r.Bound = true
	err := r.send(context.WithoutCancel(a.of.ctx), a.of.o.Timeout)
	if isLost(err) {
		return nil
	}
	return err
}

// Life is how long the store would keep the key; keeper.Doubt.
func (a *ask) Life() time.Duration { return a.req.TTL }

// Settled tells the observer; keeper.Doubt.
func (a *ask) Settled(err error) {
	kind := observe.Compensated
	if err != nil {
		kind = observe.CompensationFailed
	}
	tell(context.WithoutCancel(a.of.ctx), a.of.o.Observer, observe.Event{Kind: kind, Key: a.req.Key, Err: err})
	a.settle()
}

// settle ends the doubt and wakes who waits for that.
func (a *ask) settle() {
	a.undone.Store(true)
	a.of.Signal()
}

// hold turns the answer into a lease that is kept. It reports false, and
// leaves the ask in doubt, if the answer came too late to be of use.
func (a *ask) hold(of *acquisition) (*Lease, bool) {
	o := of.o
	g, l := &a.grant, &a.lease
	g.Owner, g.TTL, g.Margin, g.Manual = g, o.TTL, o.Margin, o.NoRenew
	g.core, g.key, g.nonce = a.core, a.req.Key, a.req.Nonce
	g.minHold = o.MinHold
	g.lease, g.fence, g.asked = l, a.answer.Fence, a.start
	if a.answer.Fence > 0 && a.answer.Block > 0 {
		g.spare = a.answer.Block - 1
	}
	now := keeper.Now()
	l.grant, l.o, l.fence, l.acquired = g, o, a.answer.Fence, now
	l.parent, l.tied = of.ctx, of.terms.tied
	if !a.core.keeper.Hold(&g.Holding, a.start, now) {
		a.undo()
		return nil, false
	}
	return l, true
}
