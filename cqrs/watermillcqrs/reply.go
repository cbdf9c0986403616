package watermillcqrs

import (
	"context"

	"github.com/ThreeDotsLabs/watermill/components/requestreply"
)

// Replies returns backend so that it neither sends nor acknowledges what is not
// the command's answer: an error for which [ShouldPoison] is false, as
// idempotency.ErrInProgress. The error goes back to the processor instead, the
// command is delivered again, and the reply is sent when there is one: of the
// run, or of its replay.
//
// Without it the sender takes "in progress" for the reply; and where
// PubSubBackendConfig.AckCommandErrors is set, a duplicate of a command that is
// under way is acknowledged, and the command lost if its run is killed.
//
// Replies panics if backend is nil.
func Replies[R any](backend requestreply.Backend[R]) requestreply.Backend[R] {
	if backend == nil {
		panic("watermillcqrs: Replies: nil backend")
	}
	return replies[R]{backend}
}

type replies[R any] struct{ requestreply.Backend[R] }

// OnCommandProcessed sends the reply, if there is one.
func (r replies[R]) OnCommandProcessed(ctx context.Context, p requestreply.BackendOnCommandProcessedParams[R]) error {
	if p.HandleErr != nil && pending(p.HandleErr) {
		return p.HandleErr
	}
	return r.Backend.OnCommandProcessed(ctx, p)
}
