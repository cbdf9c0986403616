package cqrs

import (
	"context"
	"fmt"
	"reflect"

	"github.com/semel-go/semel/idempotency"
)

// Register makes h the handler of the commands of type C, which is called name;
// see [NewExecutor]. C embeds [Returns] of R; an h with another result does
// not compile. A command that is registered as a struct may be sent as a
// pointer to it, and the other way round: it is the same command.
//
// Error: [ErrInvalid]: as for NewExecutor, or the name or the type is taken.
func Register[R any, C Returning[R]](b *Bus, name string, h func(context.Context, C) (R, error), o Options[C]) error {
	return RegisterAs(b, name, newStrictJSON[R](), h, o)
}

// RegisterAs is Register with a codec for the results.
func RegisterAs[R any, C Returning[R]](b *Bus, name string, codec idempotency.Codec[R], h func(context.Context, C) (R, error), o Options[C]) error {
	if b == nil || h == nil {
		return fmt.Errorf("cqrs: command %q: %w: nil bus or handler", name, ErrInvalid)
	}
	o = inherit(b.o, o)
	return b.add(pointee(reflect.TypeFor[C]()), name, func(outside, within []BusMiddleware) (BusHandler, error) {
		if len(within) > 0 {
			h = handlerWithin(name, h, within)
		}
		e, err := NewExecutorAs(b.guard, name, codec, h, o)
		if err != nil {
			return nil, err
		}
		return behind(func(ctx context.Context, i *Invocation) error {
			cmd, err := commandAs[C](i.command)
			if err != nil {
				return err
			}
			out, err := e.Do(putKey(ctx, i.own), cmd)
			return settle(i, out, err)
		}, outside), nil
	})
}

// inherit returns o with what b says where o says nothing.
func inherit[C any](b BusOptions, o Options[C]) Options[C] {
	if o.Scope == nil && b.Scope != nil {
		o.Scope = func(ctx context.Context, _ C) (string, error) { return b.Scope(ctx) }
	}
	if o.Secret == nil && o.Content == nil {
		o.Secret = b.Secret
	}
	if o.Lease == 0 {
		o.Lease = b.Lease
	}
	if o.Wait == 0 {
		o.Wait = b.Wait
	}
	return o
}

// handlerWithin returns h behind middlewares, with its result in a typed slot:
// there is none that they could give a value of another type.
func handlerWithin[C, R any](name string, h func(context.Context, C) (R, error), within []BusMiddleware) Handler[C, R] {
	handle := behind(func(ctx context.Context, i *Invocation) error {
		cmd, err := commandAs[C](i.command)
		if err != nil {
			return err
		}
		value, err := h(ctx, cmd)
		return settle(i, Outcome[R]{Value: value, Key: i.key}, err)
	}, within)
	return func(ctx context.Context, cmd C) (R, error) {
		var out Outcome[R]
		i := Invocation{name: name, command: cmd, out: &out}
		if claim, ok := idempotency.ClaimFrom(ctx); ok {
			i.key = claim.Key()
		}
		err := i.end(handle(ctx, &i))
		return out.Value, err
	}
}

// pointee returns what t points to, or t.
func pointee(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// commandAs returns cmd, a C, a *C or what C points to, as a C.
func commandAs[C any](cmd any) (C, error) {
	if c, ok := cmd.(C); ok {
		return c, nil
	}
	var c C
	v, want := reflect.ValueOf(cmd), reflect.TypeFor[C]()
	switch {
	case v.Kind() == reflect.Pointer && v.IsNil():
		return c, fmt.Errorf("%w: nil %v", ErrCommand, v.Type())
	case v.Kind() == reflect.Pointer && v.Type().Elem() == want:
		reflect.ValueOf(&c).Elem().Set(v.Elem())
		return c, nil
	default: // find has looked it up by its own type, so that C points to it
		p := reflect.New(v.Type())
		p.Elem().Set(v)
		reflect.ValueOf(&c).Elem().Set(p)
		return c, nil
	}
}
