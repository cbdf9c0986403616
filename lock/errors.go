package lock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// What a Locker, a Lease or a Backend reports. Match them with [errors.Is]:
// they arrive wrapped.
var (
	// ErrNotAcquired: the key is held by someone else, and waiting for it
	// ended. Nothing is held. The error is a *[HeldError].
	ErrNotAcquired = errors.New("lock: not acquired")
	// ErrUnavailable: the store could not be asked or did not answer in time.
	// It is not known whether the key is free; nothing is held by the caller.
	ErrUnavailable = errors.New("lock: store unavailable")
	// ErrLost: ownership can no longer be trusted. Stop, or let the resource
	// decide by the fence.
	ErrLost = errors.New("lock: lease lost")
	// ErrExpired: the key is no longer owned by this nonce and nobody else
	// owns it. It matches ErrLost.
	ErrExpired = fmt.Errorf("%w: expired", ErrLost)
	// ErrTaken: the key is owned by another. It matches ErrLost.
	ErrTaken = fmt.Errorf("%w: taken by another", ErrLost)
	// ErrReleased is the cause with which a lease's context ends when the
	// lease is released.
	ErrReleased = errors.New("lock: lease released")
	// ErrReentrant: the context already holds this key.
	ErrReentrant = errors.New("lock: key is already held by this context")
	// ErrClosed: the Locker was closed.
	ErrClosed = errors.New("lock: locker closed")
	// ErrInvalid: an argument or an option is out of its range; the text names
	// it. Nothing was sent.
	ErrInvalid = errors.New("lock: invalid argument")
	// ErrSpent is a Backend's refusal of an acquire whose nonce was released
	// before: a copy that came too late.
	ErrSpent = errors.New("lock: nonce already spent")
)

// HeldError says that a key is held by someone else. It matches
// [ErrNotAcquired], and the error of the context if that is what ended the
// wait.
type HeldError struct {
	// Key is the key that was asked for.
	Key string
	// Remaining is the time after which the present holder's claim ends if it
	// is not renewed, as the store told it last; 0 if unknown.
	Remaining time.Duration
	// Cause is the context's error if the context ended the wait, else nil.
	Cause error
}

// Error returns a text that does not hold the key.
func (e *HeldError) Error() string {
	text := "lock: not acquired: held by another"
	if e.Remaining > 0 {
		text += fmt.Sprintf(" for at most %v unless renewed", e.Remaining)
	}
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

// Is reports whether target is [ErrNotAcquired].
func (e *HeldError) Is(target error) bool { return target == ErrNotAcquired }

// Unwrap returns the context's error, if that ended the wait.
func (e *HeldError) Unwrap() error { return e.Cause }

// InDoubtError is returned by an [Interruptible] backend whose context ended
// while a request was under way.
type InDoubtError struct {
	// Settled is closed when the client can no longer send the request: what
	// has not reached the store by then never will, copies in the network
	// apart.
	Settled <-chan struct{}
	// Err is why the wait for the answer ended.
	Err error
}

// Error says that the answer is missing, and why.
func (e *InDoubtError) Error() string { return "lock: request in doubt: " + e.Err.Error() }

// Unwrap returns the reason.
func (e *InDoubtError) Unwrap() error { return e.Err }

// ReleaseError is returned by Do and TryDo if fn has run but the key could not
// be given back: it frees itself after its TTL. It deliberately does not match
// [ErrUnavailable], which says that nothing was done.
type ReleaseError struct {
	// Err is what Release returned.
	Err error
}

// Error says that the function ran, and why the key was not given back.
func (e *ReleaseError) Error() string { return "lock: ran, but not released: " + e.Err.Error() }

// unavailableError is an ErrUnavailable with its cause.
type unavailableError struct {
	op    string
	cause error
}

// unavailable says that op was not answered, because of cause.
func unavailable(op string, cause error) error { return &unavailableError{op, cause} }

// unanswered says that op was given up: because ctx ended, or because its time
// was up, which is not the caller's context's doing.
func unanswered(ctx context.Context, op string) error {
	if err := ctx.Err(); err != nil {
		return unavailable(op, err)
	}
	return unavailable(op, errNoAnswer)
}

var (
	errNoAnswer = errors.New("no answer in time")
	errLate     = errors.New("the answer came when the trust window had closed")
)

func (e *unavailableError) Error() string {
	return fmt.Sprintf("lock: %s: store unavailable: %v", e.op, e.cause)
}

func (e *unavailableError) Is(target error) bool { return target == ErrUnavailable }

func (e *unavailableError) Unwrap() error { return e.cause }

// lossCause is the cause with which a lease's context ends when the lease is
// lost for reason: an ErrLost, unless the Locker was closed.
func lossCause(reason error) error {
	if isLost(reason) || errors.Is(reason, ErrClosed) {
		return reason
	}
	return fmt.Errorf("%w: %w", ErrLost, reason)
}

// isLost tells "not yours" from an error that may pass.
func isLost(err error) bool { return errors.Is(err, ErrLost) }
