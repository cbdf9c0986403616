package watermillcqrs_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	wmcqrs "github.com/ThreeDotsLabs/watermill/components/cqrs"
	"github.com/ThreeDotsLabs/watermill/components/requestreply"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	semelcqrs "github.com/semel-go/semel/cqrs"
	"github.com/semel-go/semel/cqrs/watermillcqrs"
	"github.com/semel-go/semel/idempotency"
)

// Created is the result of a CreateOrder.
type Created struct{ Number int64 }

// replyBackend returns a backend that sends replies by the service's broker.
func (s *service) replyBackend(ackErrors bool) requestreply.Backend[Created] {
	s.t.Helper()
	backend, err := requestreply.NewPubSubBackend(requestreply.PubSubBackendConfig{
		Publisher: s.broker,
		SubscriberConstructor: func(requestreply.PubSubBackendSubscribeParams) (message.Subscriber, error) {
			return s.broker, nil
		},
		GeneratePublishTopic:   func(requestreply.PubSubBackendPublishParams) (string, error) { return "replies", nil },
		GenerateSubscribeTopic: func(requestreply.PubSubBackendSubscribeParams) (string, error) { return "replies", nil },
		AckCommandErrors:       ackErrors,
	}, requestreply.BackendPubsubJSONMarshaler[Created]{})
	require.NoError(s.t, err)
	return backend
}

// wrapCreate wraps create with a result, by pointer, as requestreply takes it.
func wrapCreate(t *testing.T, create func(context.Context, *CreateOrder) (Created, error)) semelcqrs.Handler[*CreateOrder, Created] {
	t.Helper()
	h, err := semelcqrs.Wrap(newGuard(t), "order.create.v1", create, semelcqrs.Options[*CreateOrder]{
		Key: func(c *CreateOrder) string { return c.RequestID },
	})
	require.NoError(t, err)
	return h
}

// TestReplayStillReplies sends a command three times, each with an operation id
// of its own: each sender gets the reply of the one run.
func TestReplayStillReplies(t *testing.T) {
	t.Parallel()
	var runs atomic.Int64
	h := wrapCreate(t, func(context.Context, *CreateOrder) (Created, error) {
		return Created{Number: 1<<53 + runs.Add(1)}, nil
	})
	s := newService(t)
	backend := watermillcqrs.Replies(s.replyBackend(false))
	s.commands(nil, requestreply.NewCommandHandlerWithResult("create", backend, h))
	s.run()
	bus := s.bus()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for range 3 {
		reply, err := requestreply.SendWithReply(ctx, bus, backend, CreateOrder{RequestID: "r1"})
		require.NoError(t, err)
		require.NoError(t, reply.Error)
		require.EqualValues(t, 1<<53+1, reply.HandlerResult.Number)
	}
	require.EqualValues(t, 1, runs.Load())
}

// TestRepliesWhenThereIsOne has a duplicate come while the first run is under
// way, which then fails. With AckCommandErrors alone the duplicate would be
// acknowledged, and its sender told that it failed.
func TestRepliesWhenThereIsOne(t *testing.T) {
	t.Parallel()
	var runs atomic.Int64
	var refused atomic.Int32
	enough := make(chan struct{})
	started := make(chan struct{})
	inner := wrapCreate(t, func(context.Context, *CreateOrder) (Created, error) {
		n := runs.Add(1)
		if n == 1 {
			close(started)
			<-enough
			return Created{}, idempotency.RetryAfter(time.Millisecond, errFails)
		}
		return Created{Number: n}, nil
	})
	var once sync.Once
	h := func(ctx context.Context, c *CreateOrder) (Created, error) {
		result, err := inner(ctx, c)
		if err != nil && refused.Add(1) == 5 {
			once.Do(func() { close(enough) })
		}
		return result, err
	}
	s := newService(t)
	s.router.AddMiddleware(watermillcqrs.Delay(watermillcqrs.DelayOptions{Min: time.Millisecond, Max: time.Millisecond}))
	backend := watermillcqrs.Replies(s.replyBackend(true))
	s.commands(nil, requestreply.NewCommandHandlerWithResult("create", backend, h))
	s.run()
	bus := s.bus()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	replies := make(chan requestreply.Reply[Created], 2)
	send := func() {
		reply, err := requestreply.SendWithReply(ctx, bus, backend, CreateOrder{RequestID: "r1"})
		if err != nil {
			reply.Error = err
		}
		replies <- reply
	}
	go send()
	<-started
	go send()
	for range 2 {
		reply := <-replies
		require.NoError(t, reply.Error)
		require.EqualValues(t, 2, reply.HandlerResult.Number)
	}
	require.EqualValues(t, 2, runs.Load())
}

// TestRepliesSendsFailures shows that a failure of the command's own is its
// reply.
func TestRepliesSendsFailures(t *testing.T) {
	t.Parallel()
	s := newService(t)
	backend := watermillcqrs.Replies(s.replyBackend(true))
	s.commands(nil, requestreply.NewCommandHandlerWithResult("create", backend,
		wrapCreate(t, func(context.Context, *CreateOrder) (Created, error) { return Created{}, idempotency.Final(errFails) })))
	s.run()
	bus := s.bus()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for range 2 {
		reply, err := requestreply.SendWithReply[Created](ctx, bus, backend, CreateOrder{RequestID: "r1"})
		require.NoError(t, err)
		require.EqualError(t, reply.Error, errFails.Error())
	}
}

var _ wmcqrs.CommandHandler = requestreply.NewCommandHandlerWithResult("", requestreply.Backend[Created](nil), semelcqrs.Handler[*CreateOrder, Created](nil))
