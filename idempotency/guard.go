package idempotency

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/semel-go/semel/internal/keeper"
	"github.com/semel-go/semel/internal/line"
	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/observe"
)

// Guard makes functions take effect once per key, over any number of processes
// that share its [Store]. It is safe for concurrent use, and one per process
// and store is enough: duplicates of one process wait for each other in memory.
type Guard struct {
	core *core
	// Behind pointers, so that printing a Guard does not print its keys.
	o    *Options // as given
	full *Options // with its defaults
	seal *sealer
	bad  error // why full does not do
}

// core is what a Guard shares with those that With made of it.
type core struct {
	store   Store
	batcher BatchRenewer // nil if the store has none
	keeper  *keeper.Keeper
	lines   *line.Lines
	cache   *cache
	scopes  *scopes
	checks  codecChecks
	closed  atomic.Bool
}

// New returns a Guard on store. It sends nothing. The error matches
// [ErrInvalid] and names every field of o that is out of range.
func New(store Store, o Options) (*Guard, error) {
	if store == nil {
		return nil, fmt.Errorf("%w: nil store", ErrInvalid)
	}
	cache, err := newCache(o.Cache)
	if err != nil {
		return nil, err
	}
	c := &core{store: store, cache: cache, scopes: newScopes()}
	c.batcher, _ = store.(BatchRenewer)
	interruptible := false
	if i, ok := store.(lock.Interruptible); ok {
		interruptible = i.Interruptible()
	}
	c.keeper = keeper.New(keeper.Config{
		Renew: c.renew, Node: c.node, IsLost: isLost, Interruptible: interruptible,
	})
	var listen func(func(string)) line.Listener
	if w, ok := store.(lock.Waiter); ok {
		listen = func(notify func(string)) line.Listener { return w.Listen(notify) }
	}
	c.lines = line.New(listen)
	g := (&Guard{core: c, o: &Options{}}).With(o)
	if g.bad != nil {
		return nil, g.bad
	}
	return g, nil
}

// Err returns why the options of a Guard made by [Guard.With] do not fit
// together, which is what each of its runs fails with, or nil. It is for those
// who would rather know when they set it up.
func (g *Guard) Err() error { return g.bad }

// With returns a Guard on the same store, queue, keeper and cache with the
// non-zero fields of o in place of g's. Options that do not fit together are
// reported by each Run. Close closes both.
func (g *Guard) With(o Options) *Guard {
	o = g.o.overlay(o)
	full := o.withDefaults()
	w := &Guard{core: g.core, o: &o, full: &full}
	if w.bad = w.full.validate(); w.bad == nil {
		w.seal, w.bad = newSealer(w.full.Compression, w.full.Encryption)
	}
	return w
}

// Format prints the type's name, whatever the verb: a Guard knows the keys that
// seal its records.
func (Guard) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "idempotency.Guard") }

// Close stops the Guard and every Guard made of it by With. New calls fail
// with [ErrClosed], as do those that wait. Close waits until every run has
// ended and every outcome is recorded, and every claim that nobody waited for
// any more is undone. When ctx ends it waits no longer: the contexts of the
// runs that are left end with cause ErrClosed, and their claims are renewed no
// more. The returned error is then ctx's.
func (g *Guard) Close(ctx context.Context) error {
	c := g.core
	c.closed.Store(true)
	c.lines.Closing()
	err := c.keeper.Close(ctx, ErrClosed)
	c.lines.Close()
	if err != nil {
		return fmt.Errorf("idempotency: close: %w", err)
	}
	return nil
}

// renew extends what the keeper holds.
func (c *core) renew(ctx context.Context, hs []*keeper.Holding) []error {
	rs := make([]RenewRequest, len(hs))
	for i, h := range hs {
		claim := h.Owner.(*owner)
		rs[i] = RenewRequest{Key: claim.digest, Nonce: claim.nonce, Lease: h.TTL}
	}
	if c.batcher != nil && len(rs) > 1 {
		return c.batcher.RenewBatch(ctx, rs)
	}
	errs := make([]error, len(rs))
	for i, r := range rs {
		errs[i] = c.store.Renew(ctx, r)
	}
	return errs
}

// node names the server that a claim's key lives on.
func (c *core) node(h *keeper.Holding) string {
	if c.batcher == nil {
		return ""
	}
	return c.batcher.Node(h.Owner.(*owner).digest)
}

// tell tells the observer, if there is one. The caller's context may have
// ended.
func tell(ctx context.Context, o observe.Observer, key Digest, e observe.Event) {
	if o != nil {
		e.Time, e.Key, e.Digested = time.Now(), key.String(), true
		o.Observe(ctx, e)
	}
}
