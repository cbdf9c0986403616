package cqrs

import "context"

// Handler handles commands of type C with results of type R. A function with
// nothing to return has an R of struct{}.
type Handler[C, R any] func(ctx context.Context, cmd C) (R, error)

// Handle calls h, so that a Handler is also an object with a method.
func (h Handler[C, R]) Handle(ctx context.Context, cmd C) (R, error) { return h(ctx, cmd) }

// Middleware decorates a Handler.
type Middleware[C, R any] func(next Handler[C, R]) Handler[C, R]

// Chain returns h behind ms, of which the first is the outermost. It is for
// what shall run under a command's claim, and only if the command runs: put it
// around the handler that is given to [Wrap] or [Register].
func Chain[C, R any](h func(context.Context, C) (R, error), ms ...Middleware[C, R]) Handler[C, R] {
	chained := Handler[C, R](h)
	for i := len(ms) - 1; i >= 0; i-- {
		chained = ms[i](chained)
	}
	return chained
}
