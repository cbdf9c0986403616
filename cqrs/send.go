package cqrs

import (
	"context"
	"reflect"
)

// Send runs cmd once, on the handler that is registered for it, and returns the
// result, of this run or of the one that was recorded. It is [Do] without the
// rest of the outcome.
func Send[R any, C Returning[R]](ctx context.Context, b *Bus, cmd C) (R, error) {
	out, err := Do[R](ctx, b, cmd)
	return out.Value, err
}

// Do runs cmd once, on the handler that is registered for it, and returns the
// outcome, of this run or of the one that was recorded.
//
// Errors: [ErrNotRegistered], [ErrNotHandled], those of the bus's middlewares,
// and those of [Executor.Do].
func Do[R any, C Returning[R]](ctx context.Context, b *Bus, cmd C) (Outcome[R], error) {
	r, err := b.find(pointee(reflect.TypeFor[C]()))
	if err != nil {
		return Outcome[R]{}, err
	}
	var out Outcome[R]
	own, ctx := takeKey(ctx)
	i := Invocation{name: r.name, command: cmd, own: own, out: &out}
	err = i.end(r.handle(ctx, &i))
	return out, err
}
