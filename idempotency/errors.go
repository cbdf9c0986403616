package idempotency

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/semel-go/semel/lock"
)

// What a Guard reports. Match them with [errors.Is]: they arrive wrapped.
var (
	// ErrInProgress: another run of the key is under way, or the key may not
	// be claimed yet. The error is an *[InProgressError].
	ErrInProgress = errors.New("idempotency: in progress")
	// ErrMismatch: the key was used before for something else. The error is a
	// *[MismatchError].
	ErrMismatch = errors.New("idempotency: key was used for something else")
	// ErrOutcomeUnknown: the key has run, and it is not known whether that
	// took effect. The error is an *[UnknownError].
	ErrOutcomeUnknown = errors.New("idempotency: outcome unknown")
	// ErrUnavailable: the store could not be asked or did not answer in time.
	// Nothing has run.
	ErrUnavailable = errors.New("idempotency: store unavailable")
	// ErrReentrant: the context already has the claim to this key.
	ErrReentrant = errors.New("idempotency: key is already claimed by this context")
	// ErrClosed: the Guard was closed.
	ErrClosed = errors.New("idempotency: guard closed")
	// ErrLost is the cause with which a run's context ends when its claim can
	// no longer be trusted. It is lock.ErrLost.
	ErrLost = lock.ErrLost
	// ErrFinished is the cause with which a run's context ends when the run
	// has returned.
	ErrFinished = errors.New("idempotency: run has returned")
)

// InProgressError says that the key is being run by another. It matches
// [ErrInProgress], and the context's error if that ended a wait.
type InProgressError struct {
	// RetryAfter is the time after which the present claim ends if it is not
	// renewed, or after which the key may be claimed; 0 if unknown.
	RetryAfter time.Duration
	// Cause is the context's error if the context ended the wait, else nil.
	Cause error
}

// Error tells the time.
func (e *InProgressError) Error() string {
	text := fmt.Sprintf("%v, retry after at most %v", ErrInProgress, e.RetryAfter)
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

// Is reports whether target is [ErrInProgress].
func (e *InProgressError) Is(target error) bool { return target == ErrInProgress }

// Unwrap returns the context's error, if that ended the wait.
func (e *InProgressError) Unwrap() error { return e.Cause }

// MismatchError says that the key was used with another fingerprint. It
// matches [ErrMismatch].
type MismatchError struct {
	// State is Held, Unknown or Completed: what became of the first use.
	State State
	// ClaimedAt and CompletedAt are the times of the first use, by its owner's
	// clock; zero unless it is Completed.
	ClaimedAt, CompletedAt time.Time
}

// Error says what became of the first use.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("%v, which is %v", ErrMismatch, e.State)
}

// Is reports whether target is [ErrMismatch].
func (e *MismatchError) Is(target error) bool { return target == ErrMismatch }

// UnknownError says that it is not known how the key's run ended. It matches
// [ErrOutcomeUnknown].
type UnknownError struct {
	// Until is when the key is free again, by this machine's clock, unless an
	// operator decides before.
	Until time.Time
}

// Error tells the time.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("%v until %v", ErrOutcomeUnknown, e.Until.Format(time.RFC3339))
}

// Is reports whether target is [ErrOutcomeUnknown].
func (e *UnknownError) Is(target error) bool { return target == ErrOutcomeUnknown }

// FinalError is the error of a run that failed for good: it is recorded, and
// replayed to duplicates with the same text. See [Final].
type FinalError struct {
	// Err is the run's own error. On a replay only its text is left.
	Err error
}

// Error returns the text of Err.
func (e *FinalError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *FinalError) Unwrap() error { return e.Err }

// Final marks err as the run's outcome: it will never succeed, so err is
// recorded, and duplicates get it in the run's stead. Final(nil) is nil.
func Final(err error) error {
	if err == nil {
		return nil
	}
	return &FinalError{Err: err}
}

// unknownOutcome is the error that Unknown makes.
type unknownOutcome struct{ err error }

func (e *unknownOutcome) Error() string { return e.err.Error() }
func (e *unknownOutcome) Unwrap() error { return e.err }

// Unknown marks err as one after which the effect may have happened or
// not: a request to another system that was not answered. The key is held for
// Options.UnknownFor, and duplicates get [ErrOutcomeUnknown], until an operator
// decides or the time is over. Unknown(nil) is nil.
func Unknown(err error) error {
	if err == nil {
		return nil
	}
	return &unknownOutcome{err}
}

// retryAfter is the error that RetryAfter makes.
type retryAfter struct {
	after time.Duration
	err   error
}

func (e *retryAfter) Error() string { return e.err.Error() }
func (e *retryAfter) Unwrap() error { return e.err }

// RetryAfter marks err as one that will pass: the key is released, and nobody
// may claim it before d is over. Until then duplicates get [ErrInProgress] with
// the rest of the time. RetryAfter(d, nil) is nil.
func RetryAfter(d time.Duration, err error) error {
	if err == nil {
		return nil
	}
	return &retryAfter{d, err}
}

// RetryDelay returns the time that [RetryAfter] put into err.
func RetryDelay(err error) (d time.Duration, ok bool) {
	var r *retryAfter
	if errors.As(err, &r) {
		return r.after, true
	}
	return 0, false
}

// IsUnknown reports whether [Unknown] marked err.
func IsUnknown(err error) bool {
	_, ok := errors.AsType[*unknownOutcome](err)
	return ok
}

// unavailableError is an ErrUnavailable with its cause.
type unavailableError struct {
	op    string
	cause error
}

func unavailable(op string, cause error) error { return &unavailableError{op, cause} }

func (e *unavailableError) Error() string {
	return fmt.Sprintf("idempotency: %s: store unavailable: %v", e.op, e.cause)
}

func (e *unavailableError) Is(target error) bool { return target == ErrUnavailable }
func (e *unavailableError) Unwrap() error        { return e.cause }

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
	errLate     = errors.New("the answer came when the claim's window had closed")
)

// isLost tells "not yours" from an error that may pass.
func isLost(err error) bool { return errors.Is(err, lock.ErrLost) }

// lossCause is the cause with which a run's context ends when its claim is lost
// for reason: an ErrLost, unless the Guard was closed.
func lossCause(reason error) error {
	if isLost(reason) || errors.Is(reason, ErrClosed) {
		return reason
	}
	return fmt.Errorf("%w: %w", ErrLost, reason)
}
