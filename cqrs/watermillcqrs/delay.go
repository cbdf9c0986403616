package watermillcqrs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/lock"
)

// DelayOptions say how long [Delay] waits. The zero value is ready to use.
type DelayOptions struct {
	// Min and Max bound the wait for an error that says how long it takes.
	// Max must be well below the time after which the broker takes a message
	// that was not acknowledged for abandoned, and below the router's
	// CloseTimeout.
	// Default: 100 ms and 5 s.
	Min, Max time.Duration

	// Pause is the wait for an error that does not say how long it takes, as
	// idempotency.ErrUnavailable.
	// Default: 1 s.
	Pause time.Duration
}

// The defaults of DelayOptions.
const (
	defaultMinDelay = 100 * time.Millisecond
	defaultMaxDelay = 5 * time.Second
	defaultPause    = time.Second
)

// Delay returns middleware that waits before it passes on an error that will
// pass: one for which [ShouldPoison] is false. Many brokers deliver a message
// again at once when it is not acknowledged, and a duplicate of one that is
// under way would be asked for as fast as the store answers. It stands
// outermost, so that it sees what neither Retry nor the poison queue has dealt
// with.
//
// It waits for what the error says: the rest of the lease, the time given to
// idempotency.RetryAfter. The wait ends with the message's context. A broker
// that hands out one message at a time to a subscription, as Redis streams do,
// hands out no other meanwhile: Max is also how long those behind it wait.
//
// Other errors are passed on at once. Delay panics if the options do not fit.
func Delay(o DelayOptions) message.HandlerMiddleware {
	o = o.withDefaults()
	if o.Min < 0 || o.Pause < 0 || o.Max < o.Min {
		panic(fmt.Sprintf("watermillcqrs: Delay: Min %v, Max %v, Pause %v", o.Min, o.Max, o.Pause))
	}
	return func(next message.HandlerFunc) message.HandlerFunc {
		return func(msg *message.Message) ([]*message.Message, error) {
			ctx := msg.Context() // what is inside may leave one that has ended
			produced, err := next(msg)
			if err != nil && pending(err) {
				sleep(ctx, o.wait(err))
			}
			return produced, err
		}
	}
}

func (o DelayOptions) withDefaults() DelayOptions {
	if o.Min == 0 {
		o.Min = defaultMinDelay
	}
	if o.Max == 0 {
		o.Max = max(defaultMaxDelay, o.Min)
	}
	if o.Pause == 0 {
		o.Pause = defaultPause
	}
	return o
}

// wait returns how long to wait with err.
func (o DelayOptions) wait(err error) time.Duration {
	var d time.Duration
	if after, ok := idempotency.RetryDelay(err); ok {
		d = after
	} else if busy, ok := errors.AsType[*idempotency.InProgressError](err); ok {
		d = busy.RetryAfter
	} else if held, ok := errors.AsType[*lock.HeldError](err); ok {
		d = held.Remaining
	}
	if d <= 0 {
		return o.Pause
	}
	return min(max(d, o.Min), o.Max)
}

// sleep sleeps for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
