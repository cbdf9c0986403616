package lock

import "context"

// heldKey is the key under which a context holds its lease.
type heldKey struct{}

// LeaseFrom returns the lease that ctx comes from: the innermost one, if there
// are several.
func LeaseFrom(ctx context.Context) (*Lease, bool) {
	l, ok := ctx.Value(heldKey{}).(*Lease)
	return l, ok
}

// holds reports whether ctx comes from a live lease on key.
func (c *core) holds(ctx context.Context, key string) bool {
	for {
		l, ok := LeaseFrom(ctx)
		if !ok {
			return false
		}
		if l.grant.core == c && l.grant.key == key && l.Valid() {
			return true
		}
		ctx = l.parent
	}
}
