package watermillcqrs_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	wmcqrs "github.com/ThreeDotsLabs/watermill/components/cqrs"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"
	"github.com/stretchr/testify/require"

	semelcqrs "github.com/semel-go/semel/cqrs"
	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/memstore"
)

const (
	topic = "orders"
	// patience bounds what a test waits for. Nothing takes so long.
	patience = 30 * time.Second
)

var errFails = errors.New("the handler fails")

// CreateOrder is a command whose sender names it.
type CreateOrder struct {
	RequestID string
	Customer  string
	SentAt    time.Time `semel:"-"`
}

// CancelOrder is another one.
type CancelOrder struct{ RequestID string }

// OrderPlaced is an event.
type OrderPlaced struct{ ID string }

func createOptions() semelcqrs.Options[CreateOrder] {
	return semelcqrs.Options[CreateOrder]{Key: func(c CreateOrder) string { return c.RequestID }}
}

func placedOptions() semelcqrs.Options[OrderPlaced] {
	return semelcqrs.Options[OrderPlaced]{Key: func(e OrderPlaced) string { return e.ID }}
}

func newGuard(t *testing.T) *idempotency.Guard {
	t.Helper()
	store, err := memstore.New(memstore.Options{})
	require.NoError(t, err)
	guard, err := idempotency.New(store, idempotency.Options{})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, guard.Close(context.Background()))
		require.NoError(t, store.Close())
	})
	return guard
}

// service is a router with a broker in memory, which delivers again at once
// what is not acknowledged.
type service struct {
	t      *testing.T
	router *message.Router
	broker *gochannel.GoChannel
}

func newService(t *testing.T) *service {
	t.Helper()
	router, err := message.NewRouter(message.RouterConfig{CloseTimeout: patience}, watermill.NopLogger{})
	require.NoError(t, err)
	return &service{t: t, router: router, broker: gochannel.NewGoChannel(gochannel.Config{OutputChannelBuffer: 64}, nil)}
}

// run starts the router, until the test ends.
func (s *service) run() {
	s.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- s.router.Run(context.Background()) }()
	<-s.router.Running()
	s.t.Cleanup(func() {
		require.NoError(s.t, s.router.Close())
		require.NoError(s.t, s.broker.Close())
		require.NoError(s.t, <-ended)
	})
}

// commands adds command handlers with onHandle.
func (s *service) commands(onHandle wmcqrs.CommandProcessorOnHandleFn, handlers ...wmcqrs.CommandHandler) {
	s.t.Helper()
	p, err := wmcqrs.NewCommandProcessorWithConfig(s.router, wmcqrs.CommandProcessorConfig{
		GenerateSubscribeTopic: func(p wmcqrs.CommandProcessorGenerateSubscribeTopicParams) (string, error) {
			return p.CommandName, nil
		},
		SubscriberConstructor: func(wmcqrs.CommandProcessorSubscriberConstructorParams) (message.Subscriber, error) {
			return s.broker, nil
		},
		OnHandle:  onHandle,
		Marshaler: wmcqrs.JSONMarshaler{},
	})
	require.NoError(s.t, err)
	require.NoError(s.t, p.AddHandlers(handlers...))
}

// bus sends to where commands subscribes.
func (s *service) bus() *wmcqrs.CommandBus {
	s.t.Helper()
	bus, err := wmcqrs.NewCommandBusWithConfig(s.broker, wmcqrs.CommandBusConfig{
		GeneratePublishTopic: func(p wmcqrs.CommandBusGeneratePublishTopicParams) (string, error) {
			return p.CommandName, nil
		},
		Marshaler: wmcqrs.JSONMarshaler{},
	})
	require.NoError(s.t, err)
	return bus
}

// send sends cmd, n times.
func (s *service) send(cmd any, n int) {
	s.t.Helper()
	bus := s.bus()
	for range n {
		require.NoError(s.t, bus.Send(context.Background(), cmd))
	}
}

// counts returns the function onHandle calls, and the number of its calls that
// returned no error, each of which acknowledged a message.
func counts(inner wmcqrs.CommandProcessorOnHandleFn) (wmcqrs.CommandProcessorOnHandleFn, *atomic.Int32) {
	var acked atomic.Int32
	return func(p wmcqrs.CommandProcessorOnHandleParams) error {
		err := inner(p)
		if err == nil {
			acked.Add(1)
		}
		return err
	}, &acked
}

// eventually waits until n is want.
func eventually(t *testing.T, want int32, n *atomic.Int32, what string) {
	t.Helper()
	require.Eventually(t, func() bool { return n.Load() >= want }, patience, time.Millisecond, what)
	require.Equal(t, want, n.Load(), what)
}

// deliver calls h as a router's handler does, with a new message.
func deliver(h message.HandlerFunc, uuid, key string, payload string) ([]*message.Message, error) {
	return h(newMessage(uuid, key, payload))
}

// newMessage returns a message as the router's handler "orders" gets it.
func newMessage(uuid, key, payload string) *message.Message {
	msg := message.NewMessage(uuid, []byte(payload))
	if key != "" {
		msg.Metadata.Set("key", key)
	}
	msg.SetContext(handlerContext("orders"))
	return msg
}

// handlerContext returns the context of a message at a handler of a router. The
// keys of its values are Watermill's own, so a router makes it.
func handlerContext(handler string) context.Context {
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	if err != nil {
		panic(err)
	}
	broker := gochannel.NewGoChannel(gochannel.Config{}, nil)
	got := make(chan context.Context, 1)
	router.AddConsumerHandler(handler, "t", broker, func(msg *message.Message) error {
		got <- context.WithoutCancel(msg.Context())
		return nil
	})
	go func() { _ = router.Run(context.Background()) }()
	<-router.Running()
	if err := broker.Publish("t", message.NewMessage("", nil)); err != nil {
		panic(err)
	}
	ctx := <-got
	_ = router.Close()
	return ctx
}
