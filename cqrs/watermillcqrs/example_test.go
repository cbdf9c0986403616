package watermillcqrs_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	wmcqrs "github.com/ThreeDotsLabs/watermill/components/cqrs"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"

	semelcqrs "github.com/semel-go/semel/cqrs"
	"github.com/semel-go/semel/cqrs/watermillcqrs"
	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/memstore"
)

// exampleGuard returns a guard on a store in memory, and what closes both.
func exampleGuard() (*idempotency.Guard, func()) {
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		panic(err)
	}
	guard, err := idempotency.New(store, idempotency.Options{})
	if err != nil {
		panic(err)
	}
	return guard, func() {
		_ = guard.Close(context.Background())
		_ = store.Close()
	}
}

// A command is sent three times to a handler that fails at first. It runs until
// it has succeeded, and not again.
func ExampleNew() {
	guard, closeGuard := exampleGuard()
	defer closeGuard()
	once, err := watermillcqrs.New(guard,
		watermillcqrs.For("order.create.v1", semelcqrs.Options[CreateOrder]{
			Key: func(c CreateOrder) string { return c.RequestID },
		}),
	)
	if err != nil {
		panic(err)
	}

	broker := gochannel.NewGoChannel(gochannel.Config{BlockPublishUntilSubscriberAck: true}, nil)
	defer func() { _ = broker.Close() }()
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = router.Close() }()
	router.AddMiddleware(watermillcqrs.Delay(watermillcqrs.DelayOptions{}))
	topicOf := func(name string) (string, error) { return name, nil }
	processor, err := wmcqrs.NewCommandProcessorWithConfig(router, wmcqrs.CommandProcessorConfig{
		GenerateSubscribeTopic: func(p wmcqrs.CommandProcessorGenerateSubscribeTopicParams) (string, error) {
			return topicOf(p.CommandName)
		},
		SubscriberConstructor: func(wmcqrs.CommandProcessorSubscriberConstructorParams) (message.Subscriber, error) {
			return broker, nil
		},
		OnHandle:  once.OnCommand(nil),
		Marshaler: wmcqrs.JSONMarshaler{},
	})
	if err != nil {
		panic(err)
	}
	fails := true
	err = processor.AddHandlers(wmcqrs.NewCommandHandler("create-order", func(_ context.Context, c *CreateOrder) error {
		if fails {
			fails = false
			fmt.Println("out of stock")
			return errors.New("out of stock")
		}
		fmt.Println("created for", c.Customer)
		return nil
	}))
	if err != nil {
		panic(err)
	}
	if err := once.CheckCommands(processor.Handlers()...); err != nil {
		panic(err) // a handler that nobody registered
	}

	go func() { _ = router.Run(context.Background()) }()
	<-router.Running()
	bus, err := wmcqrs.NewCommandBusWithConfig(broker, wmcqrs.CommandBusConfig{
		GeneratePublishTopic: func(p wmcqrs.CommandBusGeneratePublishTopicParams) (string, error) {
			return topicOf(p.CommandName)
		},
		Marshaler: wmcqrs.JSONMarshaler{},
	})
	if err != nil {
		panic(err)
	}
	for range 3 {
		if err := bus.Send(context.Background(), CreateOrder{RequestID: "r1", Customer: "c1"}); err != nil {
			panic(err)
		}
	}
	// Output:
	// out of stock
	// created for c1
}

// Middlewares of a router, from the outside in.
func ExampleMiddleware() {
	guard, closeGuard := exampleGuard()
	defer closeGuard()
	broker := gochannel.NewGoChannel(gochannel.Config{}, nil)
	defer func() { _ = broker.Close() }()
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	if err != nil {
		panic(err)
	}
	poison, err := middleware.PoisonQueueWithFilter(broker, "poison", watermillcqrs.ShouldPoison)
	if err != nil {
		panic(err)
	}
	router.AddMiddleware(
		watermillcqrs.Delay(watermillcqrs.DelayOptions{}),
		poison,
		middleware.Retry{
			MaxRetries: 3, InitialInterval: 100 * time.Millisecond, MaxInterval: time.Second, Multiplier: 2,
			ShouldRetry:         func(p middleware.RetryParams) bool { return watermillcqrs.ShouldRetry(p.Err) },
			ResetContextOnRetry: true,
		}.Middleware,
		middleware.Recoverer,
		watermillcqrs.Middleware(guard, watermillcqrs.MetadataKey("order_id"), watermillcqrs.MiddlewareOptions{}),
	)

	handled := make(chan string)
	router.AddConsumerHandler("mail", "orders", broker, func(msg *message.Message) error {
		handled <- string(msg.Payload)
		return nil
	})
	go func() { _ = router.Run(context.Background()) }()
	<-router.Running()
	for _, id := range []string{"o1", "o1", "o2"} {
		msg := message.NewMessage(watermill.NewUUID(), []byte("mail for "+id))
		msg.Metadata.Set("order_id", id)
		if err := broker.Publish("orders", msg); err != nil {
			panic(err)
		}
	}
	for range 2 {
		fmt.Println(<-handled)
	}
	_ = router.Close() // and no third one
	// Unordered output:
	// mail for o1
	// mail for o2
}
