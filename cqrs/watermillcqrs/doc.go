// Package watermillcqrs makes Watermill's commands, events and messages take
// effect once, however often they are delivered, on however many consumers that
// share a store. A message whose handler failed is delivered again and runs
// again; one whose handler succeeded is acknowledged and does not.
//
//	once, err := watermillcqrs.New(guard,
//		watermillcqrs.For("order.create.v1", cqrs.Options[CreateOrder]{
//			Key: func(c CreateOrder) string { return c.RequestID },
//		}),
//	)
//	processor, err := wmcqrs.NewCommandProcessorWithConfig(router, wmcqrs.CommandProcessorConfig{
//		OnHandle: once.OnCommand(nil),
//		...
//	})
//
// # Where it can stand
//
//	Wrap, cqrs.Wrap    around a handler's function. What has a result, as a
//	                   requestreply handler, is wrapped here and nowhere else
//	Once               in the OnHandle of a command, event or group processor,
//	                   for all handlers of it
//	Middleware         in a router, for messages of any kind. It also records
//	                   what the handler produced
//
// Use one of them for a handler. The first two know the decoded command, and
// take its key and hash as package cqrs says; the last knows the message alone,
// and is told its key by a function.
//
// # What a key is not
//
// Message.UUID is nobody's key unless you say so: every Send makes a new one, and
// it may be empty. Nor is requestreply's operation id, which is new for each
// Send, too. The key is what the sender keeps when it sends again: a field of
// the command, or a metadata field that it sets ([MetadataKey], [KeyFrom]).
//
// # What becomes of a message
//
//	the handler returns      the message is         a duplicate
//	nil                      acknowledged           is acknowledged, and does not run
//	idempotency.Final(err)   for the poison queue   for the poison queue, and does not run
//	idempotency.Unknown(err) for the poison queue   for the poison queue, until a person decides
//	another error            delivered again        runs
//	panic                    delivered again        runs
//	nothing: it was killed   delivered again        runs when the lease is over
//
// While the first is under way a duplicate gets idempotency.ErrInProgress, and
// is delivered again: it must not be acknowledged, since the first may yet fail.
//
// # The middlewares around it
//
// From the outside in, where [Middleware] or the processor's handler is the
// last:
//
//	Delay                 waits with what comes back only for time to pass
//	PoisonQueueWithFilter with ShouldPoison: what is in progress is no poison
//	Retry                 with ShouldRetry, and ResetContextOnRetry
//	Recoverer             makes a panic an error, for Retry and the poison queue
//	Middleware, handler
//
// Claims are taken inside Retry, so that each attempt claims anew and a lease
// need not outlast the pauses. Recoverer stands inside Retry and the poison
// queue: further out they would not see a panic at all, and a message that
// panics would come back for ever. It stands outside the claim, which a panic
// releases by itself. Retry calls its handler with one and the same Message,
// whose context an earlier attempt may have replaced by one that has ended;
// this package puts back the context that it found, and ResetContextOnRetry
// undoes what others leave there.
//
// # A database of one's own
//
// Where the Guard's store is in the database of the effects, the handler commits
// both in one transaction: idempotency.CompleteTx with a struct{}{} for a command
// or an event, [CompleteTx] for a message and what it produced.
//
// # What must not be used with it
//
//   - AckCommandHandlingErrors, IgnoreErrors for an error of package idempotency,
//     and InstantAck: they acknowledge a duplicate whose first run may yet fail.
//     The same is true of requestreply's AckCommandErrors, unless [Replies] stands
//     before the backend.
//   - Watermill's Deduplicator: it marks a message as seen before its handler has
//     succeeded, so that one whose handler failed is never run.
//
// Watermill itself acknowledges a command whose name no handler has: renaming a
// command's type, where the marshaler takes its name from it, drops those under
// way. Nothing here sees them.
package watermillcqrs
