package watermill_test

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-redisstream/pkg/redisstream"
	wmcqrs "github.com/ThreeDotsLabs/watermill/components/cqrs"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"
	"github.com/redis/go-redis/v9"

	semelcqrs "github.com/semel-go/semel/cqrs"
	"github.com/semel-go/semel/cqrs/watermillcqrs"
	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/redisstore"
)

const (
	stream = "orders"
	group  = "shop"
	name   = "order.create.v1"

	// lease is how long a crash blocks the command, and maxIdle how long it
	// takes the stream to give its message to another consumer: much sooner.
	lease   = 2 * time.Second
	maxIdle = 100 * time.Millisecond
	// patience bounds what a test waits for. Nothing takes so long.
	patience = time.Minute
)

// CreateOrder is the command.
type CreateOrder struct{ RequestID string }

func options() semelcqrs.Options[CreateOrder] {
	return semelcqrs.Options[CreateOrder]{Key: func(c CreateOrder) string { return c.RequestID }}
}

// consumer is a process that handles the stream's commands, each of them once.
type consumer struct {
	guard  *idempotency.Guard
	router *message.Router
	ended  chan error
	close  []func() error

	refused atomic.Int32 // deliveries that found the command in progress
	acked   atomic.Int32 // deliveries that were acknowledged
}

// startConsumer starts a consumer on the Redis at addr.
func startConsumer(addr, called string, handle func(ctx context.Context, c *CreateOrder) error) (*consumer, error) {
	c := &consumer{ended: make(chan error, 1)}
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	store, err := redisstore.New(rdb, redisstore.Options{})
	if err != nil {
		return nil, err
	}
	if c.guard, err = idempotency.New(store, idempotency.Options{Lease: lease}); err != nil {
		return nil, err
	}
	once, err := watermillcqrs.New(c.guard, watermillcqrs.For(name, options()))
	if err != nil {
		return nil, err
	}
	if c.router, err = message.NewRouter(message.RouterConfig{}, watermill.NopLogger{}); err != nil {
		return nil, err
	}
	c.router.AddMiddleware(
		watermillcqrs.Delay(watermillcqrs.DelayOptions{Min: 10 * time.Millisecond, Max: 50 * time.Millisecond, Pause: 50 * time.Millisecond}),
		middleware.Recoverer,
	)
	inner := once.OnCommand(nil)
	processor, err := wmcqrs.NewCommandProcessorWithConfig(c.router, wmcqrs.CommandProcessorConfig{
		GenerateSubscribeTopic: func(wmcqrs.CommandProcessorGenerateSubscribeTopicParams) (string, error) { return stream, nil },
		SubscriberConstructor: func(wmcqrs.CommandProcessorSubscriberConstructorParams) (message.Subscriber, error) {
			return redisstream.NewSubscriber(redisstream.SubscriberConfig{
				// A subscriber closes its client.
				Client:   redis.NewClient(&redis.Options{Addr: addr}),
				Consumer: called, ConsumerGroup: group,
				MaxIdleTime: maxIdle, ClaimInterval: 20 * time.Millisecond, BlockTime: 20 * time.Millisecond,
				DisableIndefiniteInitialBlock: true,
			}, nil)
		},
		OnHandle: func(p wmcqrs.CommandProcessorOnHandleParams) error {
			err := inner(p)
			switch {
			case errors.Is(err, idempotency.ErrInProgress):
				c.refused.Add(1)
			case err == nil:
				c.acked.Add(1)
			}
			return err
		},
		Marshaler: wmcqrs.JSONMarshaler{},
	})
	if err != nil {
		return nil, err
	}
	if err := processor.AddHandlers(wmcqrs.NewCommandHandler("create", handle)); err != nil {
		return nil, err
	}
	if err := once.CheckCommands(processor.Handlers()...); err != nil {
		return nil, err
	}
	c.close = []func() error{
		c.router.Close,
		func() error { return c.guard.Close(context.Background()) },
		store.Close, rdb.Close,
		func() error { return <-c.ended },
	}
	go func() { c.ended <- c.router.Run(context.Background()) }()
	<-c.router.Running()
	return c, nil
}
