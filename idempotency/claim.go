package idempotency

import (
	"context"
	"sync"
	"time"

	"github.com/semel-go/semel/internal/keeper"
	"github.com/semel-go/semel/observe"
)

// Claim is the right to run a key, as a run sees it: [ClaimFrom] finds it in
// the run's context. It is safe for concurrent use.
type Claim struct {
	*call
	hold      keeper.Holding
	nonce     Nonce
	fence     uint64
	attempt   uint32
	label     []byte
	parent    context.Context // the one given to Run
	claimedAt time.Time
	granted   keeper.Instant

	mu       sync.Mutex
	cancel   context.CancelCauseFunc
	end      steering
	settling bool // an outcome is being recorded: its loss is told there
	inTx     bool // CompleteTx was called
	over     bool // the run has returned
}

// steering is how a handler wants its run to end.
type steering struct {
	how Ending
	err error
}

// Ending is how a run's claim was steered to end.
type Ending uint8

// The endings of a run.
const (
	EndByReturn  Ending = iota // as the run's return says
	EndRelease                 // Claim.Release
	EndKeep                    // Claim.Keep
	EndUnknown                 // Claim.Unknown
	EndPermanent               // Claim.Permanent
)

// claimKey is the key under which a context holds its claim.
type claimKey struct{}

// ClaimFrom returns the claim under which ctx's function runs: the innermost
// one, if there are several. A function that a Guard ran without a claim
// (Options.FailOpen) has none.
func ClaimFrom(ctx context.Context) (*Claim, bool) {
	if c := claimIn(ctx); c != nil && c.call != nil {
		return c, true
	}
	return nil, false
}

// claimIn returns the claim that ctx holds, or what unclaimed put before it.
func claimIn(ctx context.Context) *Claim {
	c, _ := ctx.Value(claimKey{}).(*Claim)
	return c
}

// unclaimed returns ctx for a function that runs without a claim. A claim that
// ctx comes from is another function's: this one must not steer it, nor take its
// fence.
func unclaimed(ctx context.Context) context.Context {
	if claimIn(ctx) == nil {
		return ctx
	}
	return context.WithValue(ctx, claimKey{}, &Claim{parent: ctx})
}

// Key returns the key that is being run.
func (c *Claim) Key() Key { return c.key }

// Fence returns the fencing token: greater than that of every earlier run of
// the key. Let what you write to refuse a lower one than it has seen.
func (c *Claim) Fence() uint64 { return c.fence }

// Valid reports, without asking the store, whether the claim can still be trusted:
// for code that may have been paused before it does what cannot be undone.
func (c *Claim) Valid() bool { return c.hold.Valid() }

// Attempt returns how many times the key has been run, this one included, as
// far as the store remembers: 1 for the first.
func (c *Claim) Attempt() uint32 { return c.attempt }

// Release makes the run end without an outcome, whatever it returns: the key
// is free, and a duplicate runs it. The last of Release, Keep, Unknown and
// Permanent decides.
func (c *Claim) Release() { c.steer(steering{how: EndRelease}) }

// Keep makes the run end with an outcome, whatever it returns: its effect has
// happened. An error that it returns is recorded as by Final. If it panics, it
// is recorded as completed without a result.
func (c *Claim) Keep() { c.steer(steering{how: EndKeep}) }

// keepByDefault is Keep, unless the handler has said otherwise.
func (c *Claim) keepByDefault() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.end.how == EndByReturn {
		c.end.how = EndKeep
	}
}

// Unknown makes the run end with an unknown outcome, whatever it returns, even
// if it panics: see the function Unknown.
func (c *Claim) Unknown() { c.steer(steering{how: EndUnknown}) }

// Permanent makes the run end with err as its outcome, whatever it returns: it
// will never succeed. See Final. A nil err is as good as Keep.
func (c *Claim) Permanent(err error) {
	if err == nil {
		c.Keep()
		return
	}
	c.steer(steering{how: EndPermanent, err: err})
}

func (c *Claim) steer(s steering) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end = s
}

// Steered returns how the run was steered so far, and the error given to
// Permanent. It is for what stands between the guard and the handler, as HTTP
// middleware does: the handler's ending must become that of the whole run.
func (c *Claim) Steered() (Ending, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.end.how, c.end.err
}

// context returns the context of the run.
func (c *Claim) context() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, cancel := keeper.NewContext(c.parent, &c.hold, lossCause, claimKey{}, c)
	c.cancel = cancel
	return ctx
}

// finish ends the run's context.
func (c *Claim) finish(cause error) {
	c.mu.Lock()
	cancel := c.cancel
	c.mu.Unlock()
	if cancel != nil {
		cancel(cause)
	}
}

// settle says that an outcome is being recorded.
func (c *Claim) settle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settling = true
}

// owner is a Claim as its keeper sees it: what the keeper calls is not for users.
type owner Claim

// Lost ends the run's context; keeper.Owner.
func (o *owner) Lost(reason error) {
	c := (*Claim)(o)
	reason = lossCause(reason)
	c.finish(reason)
	c.mu.Lock()
	settling := c.settling
	c.mu.Unlock()
	if !settling {
		c.tell(observe.Lost, reason)
	}
}

// Renewed tells the observer; keeper.Owner.
func (o *owner) Renewed() { (*Claim)(o).tell(observe.Renewed, nil) }

// RenewFailed tells the observer; keeper.Owner.
func (o *owner) RenewFailed(err error) { (*Claim)(o).tell(observe.RenewFailed, err) }

// tell tells the observer, if there is one.
func (c *Claim) tell(kind observe.Kind, err error) {
	if c.o.Observer == nil {
		return
	}
	tell(context.WithoutCancel(c.parent), c.o.Observer, c.digest, observe.Event{
		Kind: kind, Fence: c.fence, Held: c.granted.Elapsed(), Err: err,
	})
}

// claimed reports whether ctx comes from a run of the key that is not over.
func (c *core) claimed(ctx context.Context, d Digest) bool {
	for claim := claimIn(ctx); claim != nil; claim = claimIn(claim.parent) {
		if claim.call != nil && claim.core == c && claim.digest == d && (claim.hold.Kept() || claim.runsInTx()) {
			return true
		}
	}
	return false
}
