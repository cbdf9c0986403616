package lock

import (
	"context"
	"time"
)

// leaseContext is a lease's context: it asks the clock before it answers.
//
// The context that it wraps is a standard one, so that context.Cause and
// contexts derived from this one work as with any other.
type leaseContext struct {
	lease *Lease
	inner context.Context
}

// heldKey is the key under which a context holds its lease.
type heldKey struct{}

func (c *leaseContext) Deadline() (time.Time, bool) { return c.inner.Deadline() }

func (c *leaseContext) Done() <-chan struct{} {
	c.lease.Valid()
	return c.inner.Done()
}

func (c *leaseContext) Err() error {
	c.lease.Valid()
	return c.inner.Err()
}

func (c *leaseContext) Value(key any) any {
	if key == (heldKey{}) {
		return c.lease
	}
	return c.inner.Value(key)
}

// String names the context in the way that the standard ones do.
func (c *leaseContext) String() string { return "lock.Lease.Context" }

// holds reports whether ctx comes from a live lease on key.
func (c *core) holds(ctx context.Context, key string) bool {
	for {
		l, ok := ctx.Value(heldKey{}).(*Lease)
		if !ok {
			return false
		}
		if l.grant.core == c && l.grant.key == key && l.Valid() {
			return true
		}
		ctx = l.parent
	}
}
