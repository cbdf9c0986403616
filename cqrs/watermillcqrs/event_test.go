package watermillcqrs_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	wmcqrs "github.com/ThreeDotsLabs/watermill/components/cqrs"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	semelcqrs "github.com/semel-go/semel/cqrs"
	"github.com/semel-go/semel/cqrs/watermillcqrs"
)

// TestEventRunsOnceAtEachHandler sends an event twice to two handlers, of which
// one fails at first.
func TestEventRunsOnceAtEachHandler(t *testing.T) {
	t.Parallel()
	once, err := watermillcqrs.New(newGuard(t),
		watermillcqrs.ForHandler("receipt", "receipt.on-order-placed.v1", placedOptions()),
		watermillcqrs.ForHandler("stock", "stock.on-order-placed.v1", placedOptions()))
	require.NoError(t, err)
	var receipts, stocks, acked atomic.Int32
	handlers := []wmcqrs.EventHandler{
		wmcqrs.NewEventHandler("receipt", func(context.Context, *OrderPlaced) error {
			receipts.Add(1)
			return nil
		}),
		wmcqrs.NewEventHandler("stock", func(context.Context, *OrderPlaced) error {
			if stocks.Add(1) == 1 {
				return errFails
			}
			return nil
		}),
	}
	require.NoError(t, once.CheckEvents(handlers...))
	s := newService(t)
	s.router.AddMiddleware(watermillcqrs.Delay(watermillcqrs.DelayOptions{Min: time.Millisecond, Max: time.Millisecond}))
	inner := once.OnEvent(nil)
	p, err := wmcqrs.NewEventProcessorWithConfig(s.router, wmcqrs.EventProcessorConfig{
		GenerateSubscribeTopic: func(wmcqrs.EventProcessorGenerateSubscribeTopicParams) (string, error) { return topic, nil },
		SubscriberConstructor: func(wmcqrs.EventProcessorSubscriberConstructorParams) (message.Subscriber, error) {
			return s.broker, nil
		},
		OnHandle: func(p wmcqrs.EventProcessorOnHandleParams) error {
			err := inner(p)
			if err == nil {
				acked.Add(1)
			}
			return err
		},
		Marshaler: wmcqrs.JSONMarshaler{},
	})
	require.NoError(t, err)
	require.NoError(t, p.AddHandlers(handlers...))
	s.run()
	publish(t, s, OrderPlaced{ID: "1"}, 2)
	eventually(t, 4, &acked, "each message at each handler")
	require.EqualValues(t, 1, receipts.Load())
	require.EqualValues(t, 2, stocks.Load())
}

// TestGroup has an event fail after it, in the one message: what has run before
// does not run again. Two handlers of one event are told apart by their wrapped
// functions alone.
func TestGroup(t *testing.T) {
	t.Parallel()
	guard := newGuard(t)
	var first, second atomic.Int32
	wrapped, err := watermillcqrs.Wrap(guard, "first.v1", func(context.Context, *OrderPlaced) error {
		first.Add(1)
		return nil
	}, semelcqrs.Options[*OrderPlaced]{Key: func(e *OrderPlaced) string { return e.ID }})
	require.NoError(t, err)
	handlers := []wmcqrs.GroupEventHandler{
		wmcqrs.NewGroupEventHandler(wrapped),
		wmcqrs.NewGroupEventHandler(func(context.Context, *OrderPlaced) error {
			if second.Add(1) < 3 {
				return errFails
			}
			return nil
		}),
	}

	once, err := watermillcqrs.New(guard, watermillcqrs.UnprotectedAt[OrderPlaced]("group"))
	require.NoError(t, err)
	require.NoError(t, once.CheckGroup("group", handlers...))
	s := newService(t)
	p, err := wmcqrs.NewEventGroupProcessorWithConfig(s.router, wmcqrs.EventGroupProcessorConfig{
		GenerateSubscribeTopic: func(wmcqrs.EventGroupProcessorGenerateSubscribeTopicParams) (string, error) { return topic, nil },
		SubscriberConstructor: func(wmcqrs.EventGroupProcessorSubscriberConstructorParams) (message.Subscriber, error) {
			return s.broker, nil
		},
		OnHandle:  once.OnGroupEvent(nil),
		Marshaler: wmcqrs.JSONMarshaler{},
	})
	require.NoError(t, err)
	require.NoError(t, p.AddHandlersGroup("group", handlers...))
	s.run()
	publish(t, s, OrderPlaced{ID: "1"}, 1)
	eventually(t, 3, &second, "runs of the second handler")
	require.EqualValues(t, 1, first.Load())
}

func TestGroupHandlersShareNoKey(t *testing.T) {
	t.Parallel()
	runs := 0
	newHandler := func() wmcqrs.GroupEventHandler {
		return wmcqrs.NewGroupEventHandler(func(context.Context, *OrderPlaced) error { runs++; return nil })
	}
	a, b := newHandler(), newHandler()
	once, err := watermillcqrs.New(newGuard(t),
		watermillcqrs.ForHandler("g", "g.on-order-placed.v1", placedOptions()),
		watermillcqrs.ForHandler("h", "h.on-order-placed.v1", placedOptions()))
	require.NoError(t, err)
	call := func(group string, h wmcqrs.GroupEventHandler) error {
		return once.OnGroupEvent(nil)(wmcqrs.EventGroupProcessorOnHandleParams{
			GroupName: group, Handler: h, Event: &OrderPlaced{ID: "1"}, EventName: "placed", Message: newMessage("", "", ""),
		})
	}
	require.NoError(t, call("g", a))
	require.NoError(t, call("g", a))
	require.NoError(t, call("h", b))
	require.Equal(t, 2, runs, "once in each group")
	require.ErrorIs(t, call("g", b), semelcqrs.ErrInvalid, "it must not pass as done")
	require.ErrorIs(t, call("g", byValue{}), semelcqrs.ErrInvalid)
	require.ErrorIs(t, call("other", a), semelcqrs.ErrNotRegistered)
	require.Equal(t, 2, runs)

	require.ErrorIs(t, once.CheckGroup("g", b), semelcqrs.ErrInvalid)
	require.NoError(t, once.CheckGroup("g", a))
	require.ErrorIs(t, once.CheckGroup("other", a), semelcqrs.ErrNotRegistered)
	require.ErrorIs(t, once.CheckEvents(wmcqrs.NewEventHandler("other", func(context.Context, *OrderPlaced) error { return nil })), semelcqrs.ErrNotRegistered)
	err = once.CheckCommands(wmcqrs.NewCommandHandler("create", func(context.Context, *CreateOrder) error { return nil }))
	require.ErrorIs(t, err, semelcqrs.ErrNotRegistered)
}

// byValue is a handler that cannot be compared.
type byValue struct{ _ []int }

func (byValue) NewEvent() any                     { return &OrderPlaced{} }
func (byValue) Handle(context.Context, any) error { return nil }

func publish(t *testing.T, s *service, event any, n int) {
	t.Helper()
	bus, err := wmcqrs.NewEventBusWithConfig(s.broker, wmcqrs.EventBusConfig{
		GeneratePublishTopic: func(wmcqrs.GenerateEventPublishTopicParams) (string, error) { return topic, nil },
		Marshaler:            wmcqrs.JSONMarshaler{},
	})
	require.NoError(t, err)
	for range n {
		require.NoError(t, bus.Publish(context.Background(), event))
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	runs := 0
	h, err := watermillcqrs.Wrap(newGuard(t), "order.create.v1", func(context.Context, *CreateOrder) error {
		if runs++; runs == 1 {
			return errFails
		}
		return nil
	}, semelcqrs.Options[*CreateOrder]{Window: time.Hour})
	require.NoError(t, err)
	handler := wmcqrs.NewCommandHandler("create", h)
	require.ErrorIs(t, handler.Handle(t.Context(), &CreateOrder{RequestID: "r1", SentAt: time.Now()}), errFails)
	require.NoError(t, handler.Handle(t.Context(), &CreateOrder{RequestID: "r1", SentAt: time.Now()}))
	require.NoError(t, handler.Handle(t.Context(), &CreateOrder{RequestID: "r1"}), "what the tag leaves out is no difference")
	require.Equal(t, 2, runs)
	require.ErrorIs(t, handler.Handle(t.Context(), (*CreateOrder)(nil)), semelcqrs.ErrCommand)

	_, err = watermillcqrs.Wrap[*CreateOrder](newGuard(t), "x", nil, semelcqrs.Options[*CreateOrder]{Window: time.Hour})
	require.ErrorIs(t, err, semelcqrs.ErrInvalid)
	_, err = watermillcqrs.Wrap(newGuard(t), "x", h, semelcqrs.Options[*CreateOrder]{Window: time.Hour, OnDuplicate: semelcqrs.Reject})
	require.ErrorIs(t, err, semelcqrs.ErrInvalid)
	_, err = watermillcqrs.Wrap(newGuard(t), "x", h, semelcqrs.Options[*CreateOrder]{})
	require.ErrorIs(t, err, semelcqrs.ErrInvalid)
}
