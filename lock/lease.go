package lock

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/semel-go/semel/internal/keeper"
	"github.com/semel-go/semel/observe"
)

// Lease is the ownership of one key, as far as it can be trusted. It is safe
// for concurrent use.
type Lease struct {
	grant    *grant
	o        *Options // of the call that it was given to
	fence    uint64
	acquired keeper.Instant
	parent   context.Context // the one given to Acquire or Do
	tied     bool            // the lease's context ends with its parent

	ended atomic.Bool

	mu     sync.Mutex
	ctx    context.Context
	cancel context.CancelCauseFunc
	cause  error // why it ended, if it did

	releasing sync.Mutex
	released  bool
	result    error
	inTime    bool // the first release began inside the window
}

// Key returns the key that is owned.
func (l *Lease) Key() string { return l.grant.key }

// Fence returns the fencing token: greater than that of every earlier lease on
// this key. Store it with what you write, and let the resource refuse a lower
// one; see the package documentation.
func (l *Lease) Fence() uint64 { return l.fence }

// Valid reports whether the lease can be trusted now. It does no I/O and reads
// a clock that goes on while the machine is suspended: ask it after anything
// that may have taken long, before what must not be done twice.
func (l *Lease) Valid() bool { return l.validAt(keeper.Now()) }

func (l *Lease) validAt(now keeper.Instant) bool { return !l.ended.Load() && l.grant.ValidAt(now) }

// Remaining returns how long the lease can still be trusted if it is not
// renewed any more, 0 if it cannot be. It does no I/O.
func (l *Lease) Remaining() time.Duration {
	now := keeper.Now()
	if !l.validAt(now) {
		return 0
	}
	return l.grant.Remaining(now)
}

// Deadline returns until when the lease can be trusted if it is not renewed
// any more, the present if it cannot be. Each renewal moves it.
func (l *Lease) Deadline() time.Time { return time.Now().Add(l.Remaining()) }

// Context returns a context that ends when the lease does: with cause
// [ErrLost] when ownership can no longer be trusted, [ErrReleased] when it was
// released, [ErrClosed] when the Locker was closed under it. It has the values
// of the context given to Acquire, and not its end.
//
// Its Done and Err read the clock before they answer, and a timer ends it when
// the trust window closes, whatever a renewal under way is doing. A context
// derived from it learns by that timer alone, and none can interrupt code that
// does not look: ending a context does not stop what was already sent, which
// is what the fence is for.
func (l *Lease) Context() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx == nil {
		parent := l.parent
		if !l.tied {
			parent = context.WithoutCancel(parent)
		}
		l.ctx, l.cancel = keeper.NewContext(parent, &l.grant.Holding, lossCause, heldKey{}, l)
		if l.cause != nil {
			l.cancel(l.cause)
		}
	}
	return l.ctx
}

// end ends the lease's context with cause. It reports whether it was the first
// to do so.
func (l *Lease) end(cause error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended.Load() {
		return false
	}
	l.cause = cause
	if l.cancel != nil {
		l.cancel(cause) // first: no lease is invalid whose context is alive
	}
	l.ended.Store(true)
	return true
}

// Extend makes the lease last for at least ttl from now on, from MinTTL to
// MaxTTL. It never shortens it, and later renewals do not either. It waits for
// a renewal that is under way.
//
// Errors: [ErrLost] if the lease has ended or the store gave the key to
// another: its context has then ended too; [ErrUnavailable] if the store did
// not answer: the lease stands as before; [ErrInvalid]; [ErrClosed]; ctx's
// error if it ended first.
func (l *Lease) Extend(ctx context.Context, ttl time.Duration) error {
	if ttl < MinTTL || ttl > MaxTTL {
		return fmt.Errorf("%w: ttl is %v, must be from %v to %v", ErrInvalid, ttl, MinTTL, MaxTTL)
	}
	if !l.Valid() {
		return fmt.Errorf("lock: extend: %w", ErrLost)
	}
	g := l.grant
	if err := g.Begin(ctx); err != nil {
		return fmt.Errorf("lock: extend: %w", err)
	}
	if !l.Valid() { // its turn may have ended meanwhile
		g.Yield()
		return fmt.Errorf("lock: extend: %w", ErrLost)
	}
	x := &extension{lease: l, req: Request{Key: g.key, Nonce: g.nonce, TTL: ttl}}
	if err := x.send(ctx); err != nil {
		return fmt.Errorf("lock: extend: %w", err)
	}
	return nil
}

// Release gives the key back, to the next caller of this process or to the
// store. It does not need ctx to be alive: it runs under a deadline of its
// own, Options.Timeout. Releasing again reports what the first release did.
//
// Errors: [ErrExpired] and [ErrTaken] (both match [ErrLost]) if the key was no
// longer owned, which is to say that another may have run at the same time;
// [ErrUnavailable] if the store did not answer: the key frees itself after its
// TTL, and Release may be called again; [ErrClosed]. Whatever it returns, the
// lease has ended.
func (l *Lease) Release(ctx context.Context) error {
	return l.release(ctx, 0)
}

// release is Release; a positive keep keeps the key for so long.
func (l *Lease) release(ctx context.Context, keep time.Duration) error {
	l.releasing.Lock()
	defer l.releasing.Unlock()
	if l.released {
		return l.result
	}
	g, c := l.grant, l.grant.core
	if !c.keeper.Enter() {
		return ErrClosed
	}
	defer c.keeper.Exit()
	bound := ctx.Done() != nil // who can be in a hurry is
	ctx = context.WithoutCancel(ctx)
	now := keeper.Now()
	trusted, held := l.validAt(now), now.Sub(l.acquired)
	l.inTime = l.inTime || trusted
	l.end(ErrReleased)
	if g.minHold > 0 {
		keep = max(keep, g.minHold-held)
	}
	if trusted && keep <= 0 && c.handOver(ctx, bound, l, now) {
		l.released = true
		tell(ctx, l.o.Observer, observe.Event{Kind: observe.HandedOver, Key: g.key, Fence: l.fence, Held: held})
		return nil
	}
	err := c.giveBack(ctx, bound, l, keep)
	event := observe.Event{Kind: observe.Released, Key: g.key, Fence: l.fence, Held: held}
	switch {
	case err == nil:
		l.released = true
	case isLost(err) && l.inTime:
		// Ours when the release began, not when it arrived: most likely an
		// earlier copy of it did arrive.
		event.Kind, event.Err = observe.ReleaseUnsure, err
		l.released, err = true, nil
	case isLost(err):
		l.released, l.result = true, fmt.Errorf("lock: release: %w", err)
		event.Kind, event.Err, err = observe.ReleaseFailed, err, l.result
	default:
		event.Kind, event.Err = observe.ReleaseFailed, err
	}
	tell(ctx, l.o.Observer, event)
	return err
}
