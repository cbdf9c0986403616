package cqrs

import (
	"context"

	"github.com/semel-go/semel/idempotency"
)

// Invocation is one command on its way through the middlewares of a bus. It
// belongs to one call: nothing of it may be used after the call has returned.
type Invocation struct {
	name     string
	command  any
	own      *string // what WithKey said of it, or nil
	out      any     // the *Outcome of the command's own result type
	done     bool    // so said whoever has returned last
	replayed bool
	key      idempotency.Key
}

// BusHandler handles an invocation. It leaves the result in the invocation.
type BusHandler func(ctx context.Context, i *Invocation) error

// BusMiddleware decorates the handlers of every command of a bus. It cannot
// return a result of its own: if it reports success where next was not called,
// or failed, that is [ErrNotHandled].
type BusMiddleware func(next BusHandler) BusHandler

// Name returns the name under which the command was registered.
func (i *Invocation) Name() string { return i.name }

// Command returns the command, as it was sent: to be looked at, not changed.
func (i *Invocation) Command() any { return i.command }

// Replayed reports whether the outcome is that of an earlier run. It is known
// once next has returned.
func (i *Invocation) Replayed() bool { return i.replayed }

// Key returns the command's key, known once next has returned; zero if it
// could not be made. Its digest may be logged.
func (i *Invocation) Key() idempotency.Key { return i.key }

// behind returns h behind ms, of which the first is the outermost.
func behind(h BusHandler, ms []BusMiddleware) BusHandler {
	for i := len(ms) - 1; i >= 0; i-- {
		h = honest(ms[i](h))
	}
	return h
}

// honest returns h so that its error undoes a success below it: a transaction
// that was not committed has left nothing, whatever the handler in it returned.
func honest(h BusHandler) BusHandler {
	return func(ctx context.Context, i *Invocation) error {
		err := h(ctx, i)
		if err != nil {
			i.done = false
		}
		return err
	}
}

// settle stores the outcome.
func settle[R any](i *Invocation, out Outcome[R], err error) error {
	*i.out.(*Outcome[R]) = out
	i.done, i.replayed, i.key = err == nil, out.Replayed, out.Key
	return err
}

// end returns err, or why there is no result although there is no error.
func (i *Invocation) end(err error) error {
	if err == nil && !i.done {
		return ErrNotHandled
	}
	return err
}
