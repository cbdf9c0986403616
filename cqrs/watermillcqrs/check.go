package watermillcqrs

import (
	"errors"
	"fmt"
	"reflect"

	wmcqrs "github.com/ThreeDotsLabs/watermill/components/cqrs"

	semelcqrs "github.com/semel-go/semel/cqrs"
)

// CheckCommands reports the handlers whose command is not registered, so that
// the program does not start, rather than that their messages come back. Call it
// with CommandProcessor.Handlers().
//
// Error: cqrs.ErrNotRegistered.
func (o *Once) CheckCommands(handlers ...wmcqrs.CommandHandler) error {
	var missing error
	for _, h := range handlers {
		s := slot{decoded: reflect.TypeOf(h.NewCommand())}
		missing = errors.Join(missing, o.check(s, h.HandlerName()))
	}
	return missing
}

// CheckEvents is CheckCommands for EventProcessor.Handlers().
func (o *Once) CheckEvents(handlers ...wmcqrs.EventHandler) error {
	var missing error
	for _, h := range handlers {
		s := slot{handler: h.HandlerName(), decoded: reflect.TypeOf(h.NewEvent())}
		missing = errors.Join(missing, o.check(s, h.HandlerName()))
	}
	return missing
}

// CheckGroup is CheckCommands for the handlers that a group is given. It also reports, with
// cqrs.ErrInvalid, two handlers of the group that are for one event: see
// [Once.OnGroupEvent].
func (o *Once) CheckGroup(group string, handlers ...wmcqrs.GroupEventHandler) error {
	var bad error
	for _, h := range handlers {
		s := slot{handler: group, decoded: reflect.TypeOf(h.NewEvent())}
		bad = errors.Join(bad, o.check(s, group), o.alone(s, h))
	}
	return bad
}

func (o *Once) check(s slot, told string) error {
	if _, known := o.slots[s]; !known {
		return notRegistered(s, told)
	}
	return nil
}

// alone reports a handler that is not the first one met at s: both would have
// one key, and what the first has done would keep the second from running.
func (o *Once) alone(s slot, h wmcqrs.GroupEventHandler) error {
	if run := o.slots[s]; run == nil {
		return nil // not protected, or refused anyway
	}
	if !reflect.ValueOf(h).Comparable() {
		return fmt.Errorf("watermillcqrs: %s: %w: a %T cannot be told from another handler; use a pointer to it", s, semelcqrs.ErrInvalid, h)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	first, met := o.groups[s]
	if !met {
		o.groups[s] = h
		return nil
	}
	if first != h {
		return fmt.Errorf("watermillcqrs: %s: %w: the group has two handlers for it, and neither has a name: wrap their functions with Wrap", s, semelcqrs.ErrInvalid)
	}
	return nil
}
