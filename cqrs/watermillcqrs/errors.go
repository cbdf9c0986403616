package watermillcqrs

import (
	"context"
	"errors"
	"slices"

	semelcqrs "github.com/semel-go/semel/cqrs"
	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/lock"
)

// ShouldPoison, as the filter of PoisonQueueWithFilter, reports whether a
// message that was handled with err may leave its queue. One may not whose time
// has not come: it would be lost if the run that is under way failed, or if the
// store was down for a minute:
//
//   - idempotency.ErrInProgress, ErrUnavailable, ErrClosed, ErrLost and
//     ErrSerialization;
//   - lock.ErrNotAcquired, ErrUnavailable and ErrClosed, as from cqrs.Serialize;
//   - an error that idempotency.RetryAfter marked;
//   - context.Canceled, with which handlers end while the program shuts down.
//
// What idempotency.Final or Unknown marked goes there whatever it wraps, and so
// do idempotency.ErrOutcomeUnknown and ErrMismatch: no delivery makes them good,
// and the poison queue is where a person looks.
func ShouldPoison(err error) bool { return err != nil && !pending(err) }

// ShouldRetry reports whether it may help to handle a message again at once, or
// after Retry's short pauses:
//
//	middleware.Retry{
//		ShouldRetry: func(p middleware.RetryParams) bool { return watermillcqrs.ShouldRetry(p.Err) },
//		...
//	}
//
// It does not where the answer is settled, as with ErrMismatch or what
// idempotency.Final marked; nor with idempotency.ErrInProgress and errors that
// RetryAfter marked, for which [Delay] waits.
func ShouldRetry(err error) bool {
	_, later := idempotency.RetryDelay(err)
	return err != nil && !later && !settled(err) && !isAny(err, noRetry())
}

// pending reports whether err passes with time.
func pending(err error) bool {
	if settled(err) {
		return false
	}
	_, later := idempotency.RetryDelay(err)
	return later || isAny(err, passing())
}

// settled reports whether the handler has said that err is the end, whatever
// else is in it.
func settled(err error) bool {
	_, final := errors.AsType[*idempotency.FinalError](err)
	return final || idempotency.IsUnknown(err)
}

func isAny(err error, targets []error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}

// passing are the errors that pass with time.
func passing() []error {
	return []error{
		idempotency.ErrInProgress, idempotency.ErrUnavailable, idempotency.ErrClosed, idempotency.ErrLost,
		idempotency.ErrSerialization,
		lock.ErrNotAcquired, lock.ErrUnavailable, lock.ErrClosed,
		context.Canceled,
	}
}

// noRetry are the errors that no retry helps.
func noRetry() []error {
	return []error{
		idempotency.ErrInProgress, idempotency.ErrClosed, lock.ErrClosed, context.Canceled,
		idempotency.ErrMismatch, idempotency.ErrOutcomeUnknown, idempotency.ErrResultUnavailable,
		idempotency.ErrReentrant, idempotency.ErrInvalid, lock.ErrReentrant,
		semelcqrs.ErrInvalid, semelcqrs.ErrNoKey, semelcqrs.ErrNoScope, semelcqrs.ErrCommand, semelcqrs.ErrNotRegistered,
	}
}
