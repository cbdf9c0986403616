// Package cqrs makes a command take effect once, however often it is sent, over
// any number of processes that share a store, and replays its typed result to
// duplicates. What package middleware is to HTTP requests, this is to the
// functions behind them.
//
//	create, err := cqrs.Wrap(guard, "order.create.v1", createOrder, cqrs.Options[CreateOrder]{
//		Key: func(c CreateOrder) string { return c.RequestID },
//	})
//	created, err := create(ctx, CreateOrder{RequestID: "r1", Customer: "c1"})
//
// [Wrap] takes a func(context.Context, C) (R, error) and returns one. A [Bus]
// is a thin layer on it, which finds the handler by the command's type and
// infers the result's from the command ([Returns]).
//
// # What a command's key is
//
// The key is the command's name, the tenant that Options.Scope names, and the
// first of these that there is:
//
//	Options.Key, Options.KeyFrom      what the command's sender calls it
//	the method IdempotencyKey of C    the same, said by the type
//	WithKey in the context            the same, said by the call
//	the command hash                  what the command says, for Options.Window
//
// A key that is there and empty is [ErrNoKey]: it never falls through to the
// next. The last one is by content (package commandhash), where two commands
// that say the same are one. They may well be meant as two, so that it holds
// for an explicit Window only. A command that has neither a key nor a Window
// cannot be registered.
//
// With one of the first three the command hash is the fingerprint: the same key
// with another content is idempotency.ErrMismatch. What may differ between two
// tellings of one command, as a trace id does, is left out of the hash by the
// tag `semel:"-"`.
//
// Nothing that an HTTP request brought enters a key by itself. [RequestKey], as
// Options.KeyFrom, opts in: the command's key is then that of the request, or
// of the webhook event, whose claim the context holds.
//
// # How a command ends
//
//	the handler returns              the sender gets   a duplicate gets
//	R, nil                           R                 R, for the window
//	idempotency.Final(err)           the error         *ReplayedError, for the window
//	idempotency.Unknown(err)         the error         idempotency.ErrOutcomeUnknown
//	idempotency.RetryAfter(d, err)   the error         ErrInProgress until d is over, then it runs
//	another error                    the error         it runs
//	panic, Goexit                    the same          it runs
//	R, nil that cannot be encoded    R                 idempotency.ErrResultUnavailable
//
// While the first is under way a duplicate gets idempotency.ErrInProgress, or
// waits for Options.Wait. A command that is sent again from within its own
// handler is idempotency.ErrReentrant.
//
// # Results
//
// A result is kept as JSON unless [WrapAs] was given another codec, and R is
// checked when the handler is wrapped: a type that JSON would not bring back as
// it was is refused. Decoding is strict. A recorded result that this program
// cannot read whole, because a field is gone or Options.ResultVersion has
// changed, is idempotency.ErrResultUnavailable: the command has run, and does
// not run again.
//
// # What it does not promise
//
// The effect and its record are two steps, unless the handler completes in its
// own transaction (idempotency.Claim). A crash between them lets a duplicate
// run the command again when the lease is over, with a higher fence.
package cqrs
