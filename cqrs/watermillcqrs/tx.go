package watermillcqrs

import (
	"context"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/semel-go/semel/idempotency"
)

// CompleteTx records, inside tx, that the message of ctx was handled and what its
// handler produced, for handlers behind [Middleware]: the handler's own effects
// in tx, the record, and the messages to publish commit together. If the process
// dies before the router has published them, the message is delivered again and
// they are published then, as from an outbox.
//
// The handler returns the same messages when tx has been committed. See
// idempotency.CompleteTx for the rest, and for what has no messages to record:
// the handler of a command or an event calls idempotency.CompleteTx(ctx, tx,
// struct{}{}).
//
// Errors: those of idempotency.CompleteTx. Then tx must be rolled back.
func CompleteTx(ctx context.Context, tx idempotency.Tx, produced ...*message.Message) error {
	return idempotency.CompleteTxAs(ctx, tx, producedCodec{}, produced)
}
