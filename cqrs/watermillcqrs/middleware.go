package watermillcqrs

import (
	"context"
	"errors"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	semelcqrs "github.com/semel-go/semel/cqrs"
	"github.com/semel-go/semel/idempotency"
)

// MiddlewareOptions configure [Middleware]. The zero value is safe. How a run is
// claimed and kept is the Guard's: a middleware with another lease or retention
// is given guard.With(...).
type MiddlewareOptions struct {
	// Silent acknowledges a duplicate and publishes nothing. If the process is
	// killed between the record and the publishing that follows it, or if the
	// publishing fails, what the handler produced is then lost for good. It is
	// for handlers that produce nothing, or nothing that matters.
	// Default: false, a duplicate publishes the recorded messages again, with
	// their UUIDs, for those who receive them to tell.
	Silent bool

	// Content returns what the message says: a message with the key of another
	// that said something else is idempotency.ErrMismatch. AnyContent compares
	// nothing.
	// Default: the payload and the metadata field "name", in which Watermill's
	// marshalers keep the type. A sender that encodes anew when it sends again,
	// with a time or in random order, needs another.
	Content func(msg *message.Message) ([]byte, error)
}

// AnyContent, as MiddlewareOptions.Content, takes every message with the same
// key for the same message.
func AnyContent(*message.Message) ([]byte, error) { return nil, nil }

// Middleware returns middleware for a router, or for one handler of it, that
// lets each message through once. The messages that its handler produced are the
// result, and are recorded with their UUIDs, metadata and payloads.
//
// The router publishes them after the middlewares have returned, when they are
// on record. So a duplicate publishes them again: the first may not have come so
// far. See MiddlewareOptions.Silent.
//
// key returns what the sender calls the message, the same each time that it
// sends it: [MetadataKey] is one. "" is cqrs.ErrNoKey. The record's key is that
// and the name of the router's handler, so that two handlers of one topic each
// see the message. A handler that is renamed handles again what it is delivered
// again. Tenants are told apart in the key: idempotency.Scope(tenant, id) joins
// two parts without ambiguity.
//
// While the handler runs, the message's context is the claim's, in which
// idempotency.ClaimFrom finds it, with its fence. The handler must not
// acknowledge the message itself.
//
// Errors, and then the handler was not called: cqrs.ErrNoKey; cqrs.ErrNoScope,
// if the message did not come through a router; those of key and of Content; and
// those of idempotency.Guard.Run. A handler that failed for good
// (idempotency.Final) is replayed as *idempotency.FinalError: without a poison
// queue it would be delivered for ever.
//
// Middleware panics if guard or key is nil, or if the guard's options do not fit.
func Middleware(guard *idempotency.Guard, key func(*message.Message) (string, error), o MiddlewareOptions) message.HandlerMiddleware {
	switch {
	case guard == nil:
		panic("watermillcqrs: Middleware: nil guard")
	case key == nil:
		panic("watermillcqrs: Middleware: nil key function")
	}
	if err := guard.Err(); err != nil {
		panic(fmt.Sprintf("watermillcqrs: Middleware: %v", err))
	}
	if o.Content == nil {
		o.Content = contentOf
	}
	return func(next message.HandlerFunc) message.HandlerFunc {
		m := &consumer{guard: guard, key: key, o: o, next: next}
		return m.handle
	}
}

// consumer is a handler behind Middleware.
type consumer struct {
	guard *idempotency.Guard
	key   func(*message.Message) (string, error)
	o     MiddlewareOptions
	next  message.HandlerFunc
}

// handle handles msg once.
func (c *consumer) handle(msg *message.Message) ([]*message.Message, error) {
	key, fingerprint, err := c.keyOf(msg)
	if err != nil {
		return nil, fmt.Errorf("watermillcqrs: message %q: %w", msg.UUID, err)
	}
	ro := idempotency.RunOptions{Fingerprint: fingerprint}
	produced, out, err := idempotency.DoAs(msg.Context(), c.guard, key, ro, producedCodec{},
		func(ctx context.Context) (made []*message.Message, err error) {
			err = within(ctx, msg, func() error {
				made, err = c.next(msg)
				return err
			})
			return made, err
		})
	if out.Status != idempotency.Replayed {
		outlive(produced)
		return produced, err
	}
	if c.o.Silent && (err == nil || out.Result.Kind == idempotency.KindTombstone) {
		return nil, nil
	}
	return produced, err
}

// keyOf returns the key of msg's record, and what msg says.
func (c *consumer) keyOf(msg *message.Message) (key idempotency.Key, fingerprint idempotency.Fingerprint, err error) {
	handler := message.HandlerNameFromCtx(msg.Context())
	if handler == "" {
		return key, fingerprint, fmt.Errorf("%w: its context names no handler of a router", semelcqrs.ErrNoScope)
	}
	id, err := c.key(msg)
	switch {
	case err != nil:
		return key, fingerprint, err
	case id == "":
		return key, fingerprint, semelcqrs.ErrNoKey
	}
	content, err := c.o.Content(msg)
	if err != nil {
		return key, fingerprint, err
	}
	if content != nil {
		fingerprint = idempotency.FingerprintOf([]byte("watermill message"), content)
	}
	return idempotency.Key{Scope: idempotency.Scope("message", handler), ID: id}, fingerprint, nil
}

// contentOf is the default of MiddlewareOptions.Content. Two commands of
// different types may have the same payload, as {"id":"1"}.
func contentOf(msg *message.Message) ([]byte, error) {
	const typeField = "name"
	return []byte(idempotency.Scope(msg.Metadata.Get(typeField), string(msg.Payload))), nil
}

// outlive gives produced messages that have the context of the run, which is
// over, one that goes on: publishers look at it.
func outlive(produced []*message.Message) {
	for _, m := range produced {
		if m != nil && errors.Is(context.Cause(m.Context()), idempotency.ErrFinished) {
			m.SetContext(context.WithoutCancel(m.Context()))
		}
	}
}
