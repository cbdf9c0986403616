package cqrs

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/semel-go/semel/cqrs/commandhash"
	"github.com/semel-go/semel/idempotency"
)

// Bus finds the handler of a command by the command's type, and runs each
// command once. It is safe for concurrent use.
type Bus struct {
	guard *idempotency.Guard
	o     BusOptions

	mu      sync.RWMutex
	outside []BusMiddleware
	within  []BusMiddleware
	types   map[reflect.Type]*registration
	names   map[string]bool
}

// BusOptions are what the commands of a bus have in common. What a command's
// own Options say goes first. The zero value is ready to use.
type BusOptions struct {
	// Scope names whose the commands are; see Options.Scope.
	// Default: all senders share keys.
	Scope func(ctx context.Context) (string, error)

	// Secret makes the command hashes HMACs; see Options.Secret. A command
	// with Options.Content takes none.
	// Default: nil, none.
	Secret []byte

	// Lease and Wait stand for those of the Guard.
	// Default: the Guard's own.
	Lease, Wait time.Duration
}

// registration is what a bus knows of one command.
type registration struct {
	name   string
	handle BusHandler
}

// NewBus returns a Bus without handlers.
//
// Error: [ErrInvalid], if guard is nil or o does not fit it.
func NewBus(guard *idempotency.Guard, o BusOptions) (*Bus, error) {
	if guard == nil {
		return nil, fmt.Errorf("%w: nil guard", ErrInvalid)
	}
	if err := guard.With(idempotency.Options{Lease: o.Lease, Wait: o.Wait}).Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if _, err := commandhash.New[struct{}]("secret", commandhash.Options{Secret: o.Secret}); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	o.Secret = slices.Clone(o.Secret)
	return &Bus{guard: guard, o: o, types: map[reflect.Type]*registration{}, names: map[string]bool{}}, nil
}

// Use adds middlewares around every command: they see each one that is sent,
// the duplicates and the replays included. The first is the outermost. What
// they put into the context reaches Options.Scope and Options.KeyFrom.
//
// It panics if a command is registered already, which would be without them,
// or if one of ms is nil.
func (b *Bus) Use(ms ...BusMiddleware) { b.use("Use", &b.outside, ms) }

// Within adds middlewares around every handler: they run under the command's
// claim, and only if the command runs, as a transaction shall. An error of
// theirs ends the run as one of the handler's does. Each call of next runs the
// handler: a middleware calls it again, under the one claim, where what came
// before has left no effect, as after a transaction that was rolled back.
//
// It panics as Use does.
func (b *Bus) Within(ms ...BusMiddleware) { b.use("Within", &b.within, ms) }

func (b *Bus) use(method string, list *[]BusMiddleware, ms []BusMiddleware) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.types) > 0 {
		panic("cqrs: Bus." + method + " after Register: the commands that are registered would be without it")
	}
	if slices.ContainsFunc(ms, func(m BusMiddleware) bool { return m == nil }) {
		panic("cqrs: Bus." + method + ": nil middleware")
	}
	*list = append(*list, ms...)
}

// add registers a command of type t.
func (b *Bus) add(t reflect.Type, name string, build func(outside, within []BusMiddleware) (BusHandler, error)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.names[name]:
		return fmt.Errorf("cqrs: command %q: %w: the name is taken", name, ErrInvalid)
	case b.types[t] != nil:
		return fmt.Errorf("cqrs: command %q: %w: %v is registered as %q", name, ErrInvalid, t, b.types[t].name)
	}
	h, err := build(b.outside, b.within)
	if err != nil {
		return err
	}
	b.names[name] = true
	b.types[t] = &registration{name: name, handle: h}
	return nil
}

// find returns the registration of commands of type t.
func (b *Bus) find(t reflect.Type) (*registration, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if r := b.types[t]; r != nil {
		return r, nil
	}
	return nil, fmt.Errorf("%w: %v", ErrNotRegistered, t)
}
