package keeper

import (
	"context"
	"time"
)

// Context is a context that ends with a holding: it asks the clock before it
// answers. The context that it wraps is a standard one, so that context.Cause
// and contexts derived from this one work as with any other.
type Context struct {
	holding *Holding
	inner   context.Context
	key     any
	value   any
}

// NewContext returns a context that ends when parent does, when cancel is
// called, and at the latest when h's window closes, whoever then calls cancel:
// the holding's Owner must. It holds value under key.
func NewContext(parent context.Context, h *Holding, key, value any) (ctx *Context, cancel context.CancelCauseFunc) {
	inner, cancel := context.WithCancelCause(parent)
	return &Context{h, inner, key, value}, cancel
}

// Deadline returns the parent's: a window moves with each renewal.
func (c *Context) Deadline() (time.Time, bool) { return c.inner.Deadline() }

// Done returns a channel that is closed when the context ends.
func (c *Context) Done() <-chan struct{} {
	c.holding.Valid()
	return c.inner.Done()
}

// Err says why the context ended.
func (c *Context) Err() error {
	c.holding.Valid()
	return c.inner.Err()
}

// Value returns the context's own value, or its parent's.
func (c *Context) Value(key any) any {
	if key == c.key {
		return c.value
	}
	return c.inner.Value(key)
}
