package cqrs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/semel-go/semel/idempotency"
)

// Executor runs each command of one name once. It is what [Wrap] and [Register]
// are made of, for those who want the [Outcome] and no bus. It is safe for
// concurrent use.
type Executor[C, R any] struct {
	guard   *idempotency.Guard
	keys    *keys[C]
	codec   idempotency.Codec[R]
	handler Handler[C, R]
}

// Outcome is how a command ended.
type Outcome[R any] struct {
	// Value is the handler's result, of this run or of the recorded one.
	Value R
	// Replayed says that an earlier run was recorded, and this is its result.
	Replayed bool
	// CompletedAt is when the run ended, by its runner's clock; zero if it left
	// nothing to be recorded.
	CompletedAt time.Time
	// Key is the command's key. Its digest is the name by which events, and an
	// operator's tools, know the record.
	Key idempotency.Key
}

// NewExecutor returns an Executor of the commands called name, kept as JSON.
//
// The name is a constant of the application's, with a version, as
// "order.create.v1": it is part of every key, so that another name is another
// command. Two handlers must not share one.
//
// Error: [ErrInvalid], which names what does not do: an argument, a field of o,
// a field of C that cannot be hashed, or what in R would not survive a replay.
func NewExecutor[C, R any](guard *idempotency.Guard, name string, h func(context.Context, C) (R, error), o Options[C]) (*Executor[C, R], error) {
	return NewExecutorAs(guard, name, newStrictJSON[R](), h, o)
}

// NewExecutorAs is NewExecutor with a codec for the results.
func NewExecutorAs[C, R any](guard *idempotency.Guard, name string, codec idempotency.Codec[R], h func(context.Context, C) (R, error), o Options[C]) (*Executor[C, R], error) {
	fail := func(err error) (*Executor[C, R], error) {
		return nil, fmt.Errorf("cqrs: command %q: %w", name, err)
	}
	switch {
	case guard == nil:
		return fail(fmt.Errorf("%w: nil guard", ErrInvalid))
	case name == "":
		return fail(fmt.Errorf("%w: empty name", ErrInvalid))
	case h == nil:
		return fail(fmt.Errorf("%w: nil handler", ErrInvalid))
	}
	e := &Executor[C, R]{handler: h}
	bad := o.validate()
	var err error
	if e.codec, err = newCodec(codec, o.ResultVersion); err != nil {
		bad = errors.Join(bad, err)
	}
	if e.keys, err = newKeys(name, o); err != nil {
		bad = errors.Join(bad, err)
	}
	if e.guard, err = o.guarded(guard); err != nil {
		bad = errors.Join(bad, fmt.Errorf("%w: %w", ErrInvalid, err))
	}
	if bad != nil {
		return fail(bad)
	}
	return e, nil
}

// Wrap returns h so that each command takes effect once: a duplicate gets the
// first one's result, and h is not called. See [NewExecutor] for the name and
// the errors, and the package's page for how commands end.
func Wrap[C, R any](guard *idempotency.Guard, name string, h func(context.Context, C) (R, error), o Options[C]) (Handler[C, R], error) {
	return WrapAs(guard, name, newStrictJSON[R](), h, o)
}

// WrapAs is Wrap with a codec for the results.
func WrapAs[C, R any](guard *idempotency.Guard, name string, codec idempotency.Codec[R], h func(context.Context, C) (R, error), o Options[C]) (Handler[C, R], error) {
	e, err := NewExecutorAs(guard, name, codec, h, o)
	if err != nil {
		return nil, err
	}
	return e.Handle, nil
}

// Name returns the commands' name.
func (e *Executor[C, R]) Name() string { return e.keys.name }

// Key returns the key under which cmd would run in ctx: what an operator
// forgets, or another part of the program looks up.
//
// Errors: [ErrNoKey], [ErrNoScope], [ErrCommand], those of Options.Scope,
// Options.KeyFrom and Options.Content.
func (e *Executor[C, R]) Key(ctx context.Context, cmd C) (idempotency.Key, error) {
	own, ctx := takeKey(ctx)
	key, _, err := e.keys.of(ctx, own, cmd)
	return key, err
}

// Handle runs cmd once and returns its result; see Do.
func (e *Executor[C, R]) Handle(ctx context.Context, cmd C) (R, error) {
	out, err := e.Do(ctx, cmd)
	return out.Value, err
}

// Do runs cmd once and returns its outcome, of this run or of the one that was
// recorded.
//
// If the handler was called, the error is its own, and Value what it returned
// with it. Otherwise the error says why there is no result: a *[ReplayedError]
// (it failed for good, earlier), a *[DuplicateError] (Reject), those of Key, or
// one of the Guard's.
func (e *Executor[C, R]) Do(ctx context.Context, cmd C) (Outcome[R], error) {
	own, ctx := takeKey(ctx)
	key, fingerprint, err := e.keys.of(ctx, own, cmd)
	if err != nil {
		return Outcome[R]{}, err
	}
	ro := idempotency.RunOptions{Fingerprint: fingerprint}
	value, out, err := idempotency.DoAs(ctx, e.guard, key, ro, e.codec, func(ctx context.Context) (R, error) {
		return e.handler(context.WithValue(ctx, codecKey{}, e.codec), cmd)
	})
	o := Outcome[R]{Value: value, CompletedAt: out.CompletedAt, Key: key}
	if out.Status != idempotency.Replayed {
		return o, err
	}
	o.Replayed = true
	return o, e.duplicate(out, err)
}

// duplicate returns the error of a duplicate, where err is that of its replay.
func (e *Executor[C, R]) duplicate(out idempotency.Outcome, err error) error {
	if e.keys.o.OnDuplicate == Reject {
		return &DuplicateError{Name: e.Name(), CompletedAt: out.CompletedAt}
	}
	if final, ok := errors.AsType[*idempotency.FinalError](err); ok {
		return &ReplayedError{Name: e.Name(), CompletedAt: out.CompletedAt, Err: final}
	}
	return err
}
