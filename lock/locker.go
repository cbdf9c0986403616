package lock

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/semel-go/semel/internal/keeper"
	"github.com/semel-go/semel/internal/line"
	"github.com/semel-go/semel/observe"
)

// Locker takes leases on the keys of one [Backend]. It is safe for concurrent
// use, and one per process and backend is enough: callers of one Locker queue
// in memory, and hand a key over to each other without asking the store.
type Locker struct {
	core *core
	o    Options // as given
	full Options // with its defaults
	bad  error   // why full does not do
}

// core is what a Locker shares with those that With made of it.
type core struct {
	backend Backend
	batcher BatchExtender // nil if the backend has none
	keeper  *keeper.Keeper
	lines   *line.Lines
	closed  atomic.Bool
}

// New returns a Locker on backend. It sends nothing. The error matches
// [ErrInvalid] and names every field of o that is out of range.
func New(backend Backend, o Options) (*Locker, error) {
	if backend == nil {
		return nil, fmt.Errorf("%w: nil backend", ErrInvalid)
	}
	filled := o.withDefaults()
	if err := filled.validate(); err != nil {
		return nil, err
	}
	c := &core{backend: backend}
	c.batcher, _ = backend.(BatchExtender)
	interruptible := false
	if i, ok := backend.(Interruptible); ok {
		interruptible = i.Interruptible()
	}
	c.keeper = keeper.New(keeper.Config{
		Renew: c.renew, Node: c.node, IsLost: isLost, Interruptible: interruptible,
	})
	var listen func(func(string)) line.Listener
	if w, ok := backend.(Waiter); ok {
		listen = func(notify func(string)) line.Listener { return w.Listen(notify) }
	}
	c.lines = line.New(listen)
	return &Locker{core: c, o: o, full: filled}, nil
}

// With returns a Locker on the same backend, queue and keeper with the
// non-zero fields of o in place of l's. Options that do not fit together are
// reported by the next Acquire, Do or their Try forms. Close closes both.
func (l *Locker) With(o Options) *Locker {
	o = l.o.overlay(o)
	full := o.withDefaults()
	return &Locker{core: l.core, o: o, full: full, bad: full.validate()}
}

// Err returns why the options of a Locker made by [Locker.With] do not fit
// together, which is what each of its calls fails with, or nil. It is for those
// who would rather know when they set it up.
func (l *Locker) Err() error { return l.bad }

// Acquire takes key, waiting up to Options.Wait while it is held.
//
// The lease is renewed until it is released or lost, whatever becomes of ctx:
// ctx bounds the acquiring alone. [Lease.Context] has ctx's values.
//
// Errors, none of which leaves anything held: *[HeldError] (matches
// [ErrNotAcquired]) if the key was still held when the wait ended, and then
// also ctx's error if that ended it; [ErrUnavailable] if the store did not
// answer, with ctx's error likewise; [ErrReentrant] if ctx comes from a lease
// on the same key; [ErrInvalid] for an empty key or options that do not fit;
// [ErrClosed]. If an answer never came, a request to undo the acquire goes on
// in the background; should that fail too, the key is held by nobody for at
// most one TTL.
func (l *Locker) Acquire(ctx context.Context, key string) (*Lease, error) {
	return l.acquire(ctx, key, terms{})
}

// TryAcquire is Acquire without waiting: it asks once, or not at all if this
// process holds the key.
func (l *Locker) TryAcquire(ctx context.Context, key string) (*Lease, error) {
	return l.acquire(ctx, key, terms{once: true})
}

// Close stops the Locker and every Locker made of it by With. New calls fail
// with [ErrClosed], as do those that wait in a queue. Close waits until every
// lease is released, every function that Do or TryDo called has ended, also if
// its lease was lost, and every request that nobody waited for any more is
// undone. When ctx ends it waits no longer: the contexts of the leases that
// are left end with cause ErrClosed, they are renewed no more, and their keys
// free themselves after their TTL. The returned error is then ctx's.
func (l *Locker) Close(ctx context.Context) error {
	c := l.core
	c.closed.Store(true)
	c.lines.Closing()
	err := c.keeper.Close(ctx, ErrClosed)
	c.lines.Close()
	if err != nil {
		return fmt.Errorf("lock: close: %w", err)
	}
	return nil
}

// renew extends what the keeper holds.
func (c *core) renew(ctx context.Context, hs []*keeper.Holding) []error {
	reqs := make([]Request, len(hs))
	for i, h := range hs {
		g := h.Owner.(*grant)
		reqs[i] = Request{Key: g.key, Nonce: g.nonce, TTL: h.TTL}
	}
	if c.batcher != nil && len(reqs) > 1 {
		_, errs := c.batcher.ExtendBatch(ctx, reqs)
		return errs
	}
	errs := make([]error, len(reqs))
	for i, r := range reqs {
		_, errs[i] = c.backend.Extend(ctx, r)
	}
	return errs
}

// node names the server that a holding's key lives on.
func (c *core) node(h *keeper.Holding) string {
	if c.batcher == nil {
		return ""
	}
	return c.batcher.Node(h.Owner.(*grant).key)
}

// tell tells the observer, if there is one.
func (l *Locker) tell(ctx context.Context, e observe.Event) { tell(ctx, l.o.Observer, e) }

func tell(ctx context.Context, o observe.Observer, e observe.Event) {
	if o != nil {
		e.Time = time.Now()
		o.Observe(ctx, e)
	}
}
