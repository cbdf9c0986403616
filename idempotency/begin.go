package idempotency

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/semel-go/semel/internal/keeper"
	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/observe"
)

// begin is one request for a claim, with a nonce of its own, and what becomes
// of it: the claim, if the store says yes.
type begin struct {
	keeper.Call
	run    *run
	start  keeper.Instant
	answer Begun
	err    error
	undone atomic.Bool // it is not in doubt, or no longer
	claim  Claim       // with its nonce and its label from the beginning
}

// send asks the store once and waits at most timeout. The error is nil or an
// ErrUnavailable; then the request is in doubt and undone in the background.
func (b *begin) send(r *run, timeout time.Duration) error {
	b.run = r
	b.claim.label = r.label()
	_, _ = rand.Read(b.claim.nonce[:])
	b.start = keeper.Now()
	ran, finished := r.core.keeper.Do(r.ctx, timeout, b, &b.Call)
	switch {
	case !ran:
		b.undone.Store(true)
		return ErrClosed
	case !finished: // Late will undo it
		return unanswered(r.ctx, "begin")
	case b.err == nil:
		return nil
	}
	err := b.err
	b.undo()
	var doubt *lock.InDoubtError
	switch {
	case errors.Is(err, ErrInvalid) || errors.Is(err, ErrResultUnavailable):
		return fmt.Errorf("idempotency: begin: %w", err)
	case errors.As(err, &doubt):
		return unanswered(r.ctx, "begin")
	}
	return unavailable("begin", err)
}

// Run asks the store; keeper.Op.
func (b *begin) Run(ctx context.Context) {
	r := b.run
	b.answer, b.err = r.core.store.Begin(ctx, BeginRequest{
		Key: r.digest, Nonce: b.claim.nonce, Fingerprint: r.fingerprint,
		Lease: r.o.Lease, Waiting: r.waits(), Label: b.claim.label,
	})
}

// Late undoes a claim whose answer nobody waited for; keeper.Op.
func (b *begin) Late() { b.undo() }

// undo makes sure that b's nonce does not have the claim, unless the answer
// says that it has not.
func (b *begin) undo() {
	k := b.run.core.keeper
	var doubt *lock.InDoubtError
	switch {
	case b.err == nil && b.answer.State != StateClaimed,
		errors.Is(b.err, lock.ErrSpent), errors.Is(b.err, ErrInvalid), errors.Is(b.err, ErrResultUnavailable):
		b.settle()
	case errors.As(b.err, &doubt):
		k.UndoAfter(doubt.Settled, b)
	default:
		k.Undo(b)
	}
}

// Undo spends b's nonce; keeper.Doubt.
func (b *begin) Undo() error {
	r := b.run
	x := &release{core: r.core, req: ReleaseRequest{
		Key: r.digest, Nonce: b.claim.nonce, TTL: max(r.o.StubFor, r.o.Lease), Compensate: true,
	}}
	x.Bound = true
	err := x.send(context.WithoutCancel(r.ctx), r.o.Timeout)
	if isLost(err) {
		return nil
	}
	return err
}

// Life is how long the store would keep the claim; keeper.Doubt.
func (b *begin) Life() time.Duration { return b.run.o.Lease }

// Settled tells the observer; keeper.Doubt.
func (b *begin) Settled(err error) {
	kind := observe.Compensated
	if err != nil {
		kind = observe.CompensationFailed
	}
	b.run.tell(observe.Event{Kind: kind, Err: err})
	b.settle()
}

// settle ends the doubt and wakes who waits for that.
func (b *begin) settle() {
	b.undone.Store(true)
	if b.run.waits() {
		b.run.Signal()
	}
}

// hold turns the answer into a claim that is kept. It reports false, and leaves
// the request in doubt, if the answer came too late to be of use.
func (b *begin) hold() (*Claim, bool) {
	r, c := b.run, &b.claim
	now := keeper.Now()
	c.hold.Owner, c.hold.TTL, c.hold.Margin = (*owner)(c), r.o.Lease, r.o.Margin
	c.call, c.fence, c.attempt = &r.call, b.answer.Fence, b.answer.Attempt
	c.parent, c.claimedAt, c.granted = r.ctx, time.Now().Truncate(time.Millisecond), now
	if !r.core.keeper.Hold(&c.hold, b.start, now) {
		b.undo()
		return nil, false
	}
	return c, true
}
