package watermillcqrs

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"

	wmcqrs "github.com/ThreeDotsLabs/watermill/components/cqrs"
	"github.com/ThreeDotsLabs/watermill/message"

	semelcqrs "github.com/semel-go/semel/cqrs"
	"github.com/semel-go/semel/idempotency"
)

// Once runs each command once, and each event once at each of its handlers. Its
// methods make what goes into the OnHandle of Watermill's processors. It is safe
// for concurrent use.
//
// What is not registered is refused with cqrs.ErrNotRegistered, and never run
// unprotected: see [Unprotected] for what may be. [Once.CheckCommands] and its
// like find it at start-up.
type Once struct {
	slots map[slot]runner // nil: not protected

	mu     sync.Mutex
	groups map[slot]wmcqrs.GroupEventHandler // the handler that each was met at
}

// New returns a Once on guard for what rs register.
//
// Error: cqrs.ErrInvalid, for each registration that does not do: its type
// cannot be hashed, it has neither a key nor a Window, its options do not fit
// the guard, or its name or type is taken.
func New(guard *idempotency.Guard, rs ...Registration) (*Once, error) {
	if guard == nil {
		return nil, fmt.Errorf("watermillcqrs: %w: nil guard", semelcqrs.ErrInvalid)
	}
	o := &Once{slots: map[slot]runner{}, groups: map[slot]wmcqrs.GroupEventHandler{}}
	names := map[string]bool{}
	var bad error
	for _, r := range rs {
		if err := o.add(guard, r, names); err != nil {
			bad = errors.Join(bad, err)
		}
	}
	if bad != nil {
		return nil, bad
	}
	return o, nil
}

func (o *Once) add(guard *idempotency.Guard, r Registration, names map[string]bool) error {
	invalid := func(format string, args ...any) error {
		return fmt.Errorf("watermillcqrs: %q: %w: "+format, append([]any{r.name, semelcqrs.ErrInvalid}, args...)...)
	}
	_, taken := o.slots[r.slot]
	switch {
	case r.slot.decoded == nil:
		return invalid("an empty Registration")
	case r.bad != nil:
		return fmt.Errorf("watermillcqrs: %q: %w", r.name, r.bad)
	case taken:
		return invalid("%v is registered already", r.slot)
	case r.build == nil:
		o.slots[r.slot] = nil
		return nil
	case names[r.name]:
		return invalid("the name is taken: what one handler has done would keep the other from running")
	}
	run, err := r.build(guard)
	if err != nil {
		return err
	}
	names[r.name] = true
	o.slots[r.slot] = run
	return nil
}

// String names the slot for a person.
func (s slot) String() string {
	if s.handler == "" {
		return s.decoded.String()
	}
	return fmt.Sprintf("%v at %q", s.decoded, s.handler)
}

// OnCommand returns what goes into CommandProcessorConfig.OnHandle, the one place
// for it: next, if not nil, is what would be there otherwise. It is called under
// the claim, only if the command runs, and calls params.Handler.Handle with
// params.Message.Context(). What shall see every delivery stands around it, as a
// function that calls the returned one.
//
// A handler of requestreply is wrapped inside, by cqrs.Wrap, and registered with
// [Unprotected]. Around it, a duplicate would have no reply; and under
// AckCommandErrors, where it reports success for a command that has failed, the
// failure would be recorded as done.
//
// Errors, besides those of next: cqrs.ErrNotRegistered, and those of
// cqrs.Executor.Do.
func (o *Once) OnCommand(next wmcqrs.CommandProcessorOnHandleFn) wmcqrs.CommandProcessorOnHandleFn {
	if next == nil {
		next = func(p wmcqrs.CommandProcessorOnHandleParams) error {
			return p.Handler.Handle(p.Message.Context(), p.Command)
		}
	}
	return func(p wmcqrs.CommandProcessorOnHandleParams) error {
		s := slot{decoded: reflect.TypeOf(p.Command)}
		return o.run(s, p.CommandName, p.Message, p.Command, func() error { return next(p) })
	}
}

// OnEvent is OnCommand for EventProcessorConfig.OnHandle. An event is run once
// at each handler that [ForHandler] names.
func (o *Once) OnEvent(next wmcqrs.EventProcessorOnHandleFn) wmcqrs.EventProcessorOnHandleFn {
	if next == nil {
		next = func(p wmcqrs.EventProcessorOnHandleParams) error {
			return p.Handler.Handle(p.Message.Context(), p.Event)
		}
	}
	return func(p wmcqrs.EventProcessorOnHandleParams) error {
		s := slot{handler: p.Handler.HandlerName(), decoded: reflect.TypeOf(p.Event)}
		return o.run(s, p.EventName, p.Message, p.Event, func() error { return next(p) })
	}
}

// OnGroupEvent is OnCommand for EventGroupProcessorConfig.OnHandle. The handlers
// of a group have no names, so that an event is run once in the group that
// [ForHandler] names, and a second handler for it in the group is refused with
// cqrs.ErrInvalid: wrap the functions of such handlers with [Wrap]. They are told
// apart by what they are, so that another processor of the same group, with
// handlers of its own, has a Once of its own.
func (o *Once) OnGroupEvent(next wmcqrs.EventGroupProcessorOnHandleFn) wmcqrs.EventGroupProcessorOnHandleFn {
	if next == nil {
		next = func(p wmcqrs.EventGroupProcessorOnHandleParams) error {
			return p.Handler.Handle(p.Message.Context(), p.Event)
		}
	}
	return func(p wmcqrs.EventGroupProcessorOnHandleParams) error {
		s := slot{handler: p.GroupName, decoded: reflect.TypeOf(p.Event)}
		if err := o.alone(s, p.Handler); err != nil {
			return err
		}
		return o.run(s, p.EventName, p.Message, p.Event, func() error { return next(p) })
	}
}

// run runs what arrived at s once. While next runs, msg has the claim's context.
func (o *Once) run(s slot, told string, msg *message.Message, decoded any, next func() error) error {
	run, known := o.slots[s]
	switch {
	case !known:
		return notRegistered(s, told)
	case run == nil:
		return next()
	}
	return run(msg.Context(), decoded, func(ctx context.Context) error {
		return within(ctx, msg, next)
	})
}

// within calls fn while msg has ctx, and gives msg back the context that it had,
// whatever fn does: ctx ends with the run, and Retry uses msg again.
func within(ctx context.Context, msg *message.Message, fn func() error) error {
	outer := msg.Context()
	msg.SetContext(ctx)
	defer msg.SetContext(outer)
	return fn()
}

func notRegistered(s slot, told string) error {
	return fmt.Errorf("watermillcqrs: %s, called %q: %w", s, told, semelcqrs.ErrNotRegistered)
}
