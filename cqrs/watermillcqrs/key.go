package watermillcqrs

import (
	"context"
	"fmt"

	wmcqrs "github.com/ThreeDotsLabs/watermill/components/cqrs"
	"github.com/ThreeDotsLabs/watermill/message"

	semelcqrs "github.com/semel-go/semel/cqrs"
)

// MetadataKey returns the function that finds a message's key in the metadata
// field of that name, which the sender sets, to the same each time it sends the
// same:
//
//	bus.SendWithModifiedMessage(ctx, cmd, func(m *message.Message) error {
//		m.Metadata.Set("command_id", id)
//		return nil
//	})
//
// A message without the field has no key: it is refused with cqrs.ErrNoKey.
// Fields that are new for each Send do not do, requestreply's operation id
// among them.
func MetadataKey(field string) func(*message.Message) (string, error) {
	return func(msg *message.Message) (string, error) {
		key := msg.Metadata.Get(field)
		if key == "" {
			return "", fmt.Errorf("%w: no metadata field %q", semelcqrs.ErrNoKey, field)
		}
		return key, nil
	}
}

// KeyFrom returns what cqrs.Options.KeyFrom takes, so that a command's key is
// that of the message that it came in:
//
//	KeyFrom: watermillcqrs.KeyFrom[CreateOrder](watermillcqrs.MetadataKey("command_id"))
//
// Outside of a processor, where there is no message, it is cqrs.ErrNoKey.
func KeyFrom[C any](key func(*message.Message) (string, error)) func(context.Context, C) (string, error) {
	return func(ctx context.Context, _ C) (string, error) {
		msg := wmcqrs.OriginalMessageFromCtx(ctx)
		if msg == nil {
			return "", fmt.Errorf("%w: the context holds no message", semelcqrs.ErrNoKey)
		}
		return key(msg)
	}
}
