package watermillcqrs

import (
	"context"
	"fmt"
	"reflect"

	semelcqrs "github.com/semel-go/semel/cqrs"
	"github.com/semel-go/semel/idempotency"
)

// Registration says how the commands of one type, or the events of one type at
// one handler, are run. [For], [ForHandler], [Unprotected] and
// [UnprotectedAt] make one, and [New] checks it.
type Registration struct {
	name  string
	slot  slot
	build func(guard *idempotency.Guard) (runner, error) // nil: it is not protected
	bad   error
}

// slot is where something arrives: at which handler, and what. A command has one
// handler, which goes without saying.
type slot struct {
	handler string
	decoded reflect.Type // a pointer, as Watermill decodes into one
}

// runner runs a decoded command once, by next under the claim's context.
type runner func(ctx context.Context, decoded any, next func(ctx context.Context) error) error

// For registers the commands of type C, or of the type that C points to, under
// the name by which package cqrs knows them. The name is part of every key: see
// cqrs.NewExecutor for it, and cqrs.Options for the rest.
//
// A protobuf message and any other type that must not be copied is registered by
// its pointer.
func For[C any](name string, o semelcqrs.Options[C]) Registration {
	return register(name, slot{decoded: decodedType[C]()}, o)
}

// ForHandler registers the events of type E, or of the type that E points to, at
// the handler of that name: the EventHandler's HandlerName, or the name of the
// group. Every handler of an event runs once, so that each has a registration
// and a name of its own, as "receipt.on-order-placed.v1". The handler's name is
// not part of the key: it may change while messages are under way.
func ForHandler[E any](handler, name string, o semelcqrs.Options[E]) Registration {
	r := register(name, slot{handler: handler, decoded: decodedType[E]()}, o)
	r.bad = unnamed(handler)
	return r
}

// Unprotected registers the commands of type C, or of the type that C points to,
// as those that run as often as they are delivered: what does no harm twice, and
// handlers whose own function was wrapped.
func Unprotected[C any]() Registration {
	return Registration{slot: slot{decoded: decodedType[C]()}}
}

// UnprotectedAt is Unprotected for the events of type E at the handler, or the
// group, of that name.
func UnprotectedAt[E any](handler string) Registration {
	return Registration{slot: slot{handler: handler, decoded: decodedType[E]()}, bad: unnamed(handler)}
}

func unnamed(handler string) error {
	if handler == "" {
		return fmt.Errorf("%w: an event's handler has no name", semelcqrs.ErrInvalid)
	}
	return nil
}

// decodedType is what Watermill decodes a C into.
func decodedType[C any]() reflect.Type {
	t := reflect.TypeFor[C]()
	if t.Kind() == reflect.Pointer {
		return t
	}
	return reflect.PointerTo(t)
}

// register returns the registration whose runner is an executor of package cqrs.
// Its handler is known only when there is something to handle, and reaches it in
// the context.
func register[C any](name string, s slot, o semelcqrs.Options[C]) Registration {
	build := func(guard *idempotency.Guard) (runner, error) {
		if err := noReject(name, o); err != nil {
			return nil, err
		}
		e, err := semelcqrs.NewExecutor(guard, name, func(ctx context.Context, _ C) (struct{}, error) {
			next, _ := ctx.Value(nextKey{}).(func(context.Context) error)
			return struct{}{}, next(ctx)
		}, o)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, decoded any, next func(context.Context) error) error {
			cmd, err := commandAs[C](name, decoded)
			if err != nil {
				return err
			}
			_, err = e.Handle(context.WithValue(ctx, nextKey{}, next), cmd)
			return err
		}, nil
	}
	return Registration{name: name, slot: s, build: build}
}

// nextKey is the key under which a context holds what a runner is to call.
type nextKey struct{}

// noReject refuses a policy under which a duplicate is an error.
//
// Error: cqrs.ErrInvalid.
func noReject[C any](name string, o semelcqrs.Options[C]) error {
	if o.OnDuplicate == semelcqrs.Reject {
		return fmt.Errorf("watermillcqrs: %q: %w: Options.OnDuplicate is Reject: "+
			"a message whose handling is an error is delivered again, and a duplicate would come back for ever", name, semelcqrs.ErrInvalid)
	}
	return nil
}

// commandAs returns decoded, a C or a *C, as a C.
func commandAs[C any](name string, decoded any) (C, error) {
	if c, ok := decoded.(C); ok {
		return c, nil // a nil pointer is found by the executor
	}
	if p, ok := decoded.(*C); ok && p != nil {
		return *p, nil
	}
	var none C
	return none, fmt.Errorf("%w: %s: %T is nil", semelcqrs.ErrCommand, name, decoded)
}
