package watermillcqrs

import (
	"context"
	"fmt"

	semelcqrs "github.com/semel-go/semel/cqrs"
	"github.com/semel-go/semel/idempotency"
)

// Wrap returns h, the function of a command or event handler, so that each
// command takes effect once. It is cqrs.Wrap for functions without a result, and
// gives what NewCommandHandler, NewEventHandler, NewGroupEventHandler and
// requestreply's NewCommandHandler take. A function with a result is wrapped by
// cqrs.Wrap itself, and given to requestreply's NewCommandHandlerWithResult.
//
// Error: cqrs.ErrInvalid.
func Wrap[C any](guard *idempotency.Guard, name string, h func(context.Context, C) error, o semelcqrs.Options[C]) (func(context.Context, C) error, error) {
	if h == nil {
		return nil, fmt.Errorf("watermillcqrs: %q: %w: nil handler", name, semelcqrs.ErrInvalid)
	}
	if err := noReject(name, o); err != nil {
		return nil, err
	}
	e, err := semelcqrs.NewExecutor(guard, name, func(ctx context.Context, cmd C) (struct{}, error) {
		return struct{}{}, h(ctx, cmd)
	}, o)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, cmd C) error {
		_, err := e.Handle(ctx, cmd)
		return err
	}, nil
}
