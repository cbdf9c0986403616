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
	cancel  context.CancelCauseFunc
	cause   func(reason error) error
	key     any
	value   any
}

// NewContext returns a context that ends when parent does, when cancel is
// called, and when h is lost: then with the cause that cause makes of the
// reason. Whoever asks it learns that at once; for those who only wait for it,
// the holding's Owner must call cancel. It holds value under key.
func NewContext(parent context.Context, h *Holding, cause func(reason error) error, key, value any) (*Context, context.CancelCauseFunc) {
	inner, cancel := context.WithCancelCause(parent)
	return &Context{h, inner, cancel, cause, key, value}, cancel
}

// ask ends the context if the holding is lost. The owner may be about to do so:
// there is to be no moment in which the holding is not valid and the context
// still alive.
func (c *Context) ask() {
	if !c.holding.Valid() {
		if reason := c.holding.lostFor(); reason != nil {
			c.cancel(c.cause(reason))
		}
	}
}

// Deadline returns the parent's: a window moves with each renewal.
func (c *Context) Deadline() (time.Time, bool) { return c.inner.Deadline() }

// Done returns a channel that is closed when the context ends.
func (c *Context) Done() <-chan struct{} {
	c.ask()
	return c.inner.Done()
}

// Err says why the context ended.
func (c *Context) Err() error {
	c.ask()
	return c.inner.Err()
}

// Value returns the context's own value, or its parent's.
func (c *Context) Value(key any) any {
	if key == c.key {
		return c.value
	}
	return c.inner.Value(key)
}
