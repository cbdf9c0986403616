package cqrs

import (
	"errors"
	"fmt"
	"time"
)

// What this package reports of its own. Match them with [errors.Is]. What the
// Guard reports passes through as it is: idempotency.ErrInProgress,
// ErrMismatch, ErrOutcomeUnknown, ErrResultUnavailable, ErrUnavailable,
// ErrReentrant and ErrClosed.
var (
	// ErrInvalid: an argument, a type or an option does not do; the text names
	// it. It is told when a handler is wrapped or registered.
	ErrInvalid = errors.New("cqrs: invalid argument")
	// ErrNoKey: the command has no key, or an empty one. Nothing has run.
	ErrNoKey = errors.New("cqrs: command has no key")
	// ErrNoScope: Options.Scope named nobody. Nothing has run.
	ErrNoScope = errors.New("cqrs: command has no scope")
	// ErrCommand: the command is a nil pointer, or holds a value that the
	// command hash refuses. Nothing has run.
	ErrCommand = errors.New("cqrs: unusable command")
	// ErrNotRegistered: the bus has no handler for the command's type.
	ErrNotRegistered = errors.New("cqrs: command is not registered")
	// ErrNotHandled: a middleware of the bus reported success where there is
	// none: it did not call the next handler, or kept its error back.
	ErrNotHandled = errors.New("cqrs: middleware reported a success that is none")
	// ErrDuplicate: the command has run before. The error is a
	// *[DuplicateError]; see Reject.
	ErrDuplicate = errors.New("cqrs: duplicate command")
)

// DuplicateError says that the command has run before. It matches
// [ErrDuplicate].
type DuplicateError struct {
	// Name is the command's name.
	Name string
	// CompletedAt is when it had run, by its runner's clock.
	CompletedAt time.Time
}

// Error says when.
func (e *DuplicateError) Error() string {
	return fmt.Sprintf("%v: %s completed at %s", ErrDuplicate, e.Name, e.CompletedAt.Format(time.RFC3339))
}

// Is reports whether target is [ErrDuplicate].
func (e *DuplicateError) Is(target error) bool { return target == ErrDuplicate }

// ReplayedError is the error of an earlier run of the command, which failed for
// good (idempotency.Final). A run of one's own is never told by one; but a
// handler may pass on that of a command which it sent: Name tells whose it is.
type ReplayedError struct {
	// Name is the command's name.
	Name string
	// CompletedAt is when it failed, by its runner's clock.
	CompletedAt time.Time
	// Err is an *idempotency.FinalError, of which the text is left.
	Err error
}

// Error returns the text of the recorded error.
func (e *ReplayedError) Error() string { return e.Err.Error() }

// Unwrap returns the recorded error.
func (e *ReplayedError) Unwrap() error { return e.Err }
