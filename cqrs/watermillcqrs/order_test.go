package watermillcqrs_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	wmcqrs "github.com/ThreeDotsLabs/watermill/components/cqrs"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"
	"github.com/stretchr/testify/require"

	semelcqrs "github.com/semel-go/semel/cqrs"
	"github.com/semel-go/semel/cqrs/watermillcqrs"
	"github.com/semel-go/semel/idempotency"
)

// inOrder adds the middlewares in the order that the package's documentation
// states.
func (s *service) inOrder(poison message.Publisher) {
	s.t.Helper()
	poisonQueue, err := middleware.PoisonQueueWithFilter(poison, "poison", watermillcqrs.ShouldPoison)
	require.NoError(s.t, err)
	s.router.AddMiddleware(
		watermillcqrs.Delay(watermillcqrs.DelayOptions{Min: time.Millisecond, Max: time.Millisecond, Pause: time.Millisecond}),
		poisonQueue,
		middleware.Retry{
			MaxRetries: 2, InitialInterval: time.Millisecond, MaxInterval: time.Millisecond, Multiplier: 1,
			ShouldRetry:         func(p middleware.RetryParams) bool { return watermillcqrs.ShouldRetry(p.Err) },
			ResetContextOnRetry: true,
		}.Middleware,
		middleware.Recoverer,
	)
}

// TestOrderPoison shows what comes to the poison queue in the documented order,
// and after how many runs.
func TestOrderPoison(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		handle func() error
		runs   int32
		reason string
	}{
		"an error":      {func() error { return errFails }, 3, errFails.Error()},
		"a panic":       {func() error { panic("always") }, 3, "panic occurred"},
		"a final error": {func() error { return idempotency.Final(errFails) }, 1, errFails.Error()},
		"unknown":       {func() error { return idempotency.Unknown(errFails) }, 1, errFails.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			once, err := watermillcqrs.New(newGuard(t), watermillcqrs.For("order.create.v1", createOptions()))
			require.NoError(t, err)
			var runs atomic.Int32
			s, poison := newService(t), &publisher{}
			s.inOrder(poison)
			s.commands(once.OnCommand(nil), wmcqrs.NewCommandHandler("create", func(context.Context, *CreateOrder) error {
				runs.Add(1)
				return tc.handle()
			}))
			s.run()
			s.send(CreateOrder{RequestID: "r1"}, 1)
			require.Eventually(t, func() bool { return len(poison.taken()) == 1 }, patience, time.Millisecond)
			require.Contains(t, poison.taken()[0].Metadata.Get(middleware.ReasonForPoisonedKey), tc.reason)
			require.Equal(t, tc.runs, runs.Load())
		})
	}
}

// TestOrderInProgressIsNoPoison has a duplicate come while the first run is
// under way, which then fails for a while: the command runs, and no copy of it
// goes to the poison queue.
func TestOrderInProgressIsNoPoison(t *testing.T) {
	t.Parallel()
	once, err := watermillcqrs.New(newGuard(t), watermillcqrs.For("order.create.v1", createOptions()))
	require.NoError(t, err)
	var runs, refused, succeeded atomic.Int32
	enough := make(chan struct{})
	inner := once.OnCommand(nil)
	onHandle, acked := counts(func(p wmcqrs.CommandProcessorOnHandleParams) error {
		err := inner(p)
		if runs.Load() == 1 && errors.Is(err, idempotency.ErrInProgress) && refused.Add(1) == 10 {
			close(enough)
		}
		return err
	})
	s, poison := newService(t), &publisher{}
	s.inOrder(poison)
	s.commands(onHandle, wmcqrs.NewCommandHandler("create", func(context.Context, *CreateOrder) error {
		if runs.Add(1) == 1 {
			<-enough
			return idempotency.RetryAfter(20*time.Millisecond, errFails)
		}
		succeeded.Add(1)
		return nil
	}))
	s.run()
	s.send(CreateOrder{RequestID: "r1"}, 3)
	eventually(t, 3, acked, "messages acknowledged")
	require.EqualValues(t, 2, runs.Load())
	require.EqualValues(t, 1, succeeded.Load())
	require.Empty(t, poison.taken())
}

// TestContrastDeduplicator shows why Watermill's own Deduplicator must not stand
// in Middleware's place. It marks a message as seen before the handler has
// succeeded: after a failure the redelivery is taken for a duplicate, and
// acknowledged. Should this test fail, Watermill has mended it, and the
// documentation must say so.
func TestContrastDeduplicator(t *testing.T) {
	t.Parallel()
	dedup := &middleware.Deduplicator{KeyFactory: middleware.NewMessageHasherSHA256(1 << 20), Timeout: time.Second}
	for name, tc := range map[string]struct {
		mw   message.HandlerMiddleware
		runs int
	}{
		"Deduplicator loses the message": {dedup.Middleware, 1},
		"Middleware runs it":             {byKey(t, watermillcqrs.MiddlewareOptions{}), 2},
	} {
		runs := 0
		h := tc.mw(func(*message.Message) ([]*message.Message, error) {
			if runs++; runs == 1 {
				return nil, errFails
			}
			return nil, nil
		})
		_, err := deliver(h, "u1", "k", "p")
		require.ErrorIs(t, err, errFails, name)
		for range 2 {
			_, err = deliver(h, "u1", "k", "p")
			require.NoError(t, err, name) // acknowledged
		}
		require.Equal(t, tc.runs, runs, name)
	}
}

// TestContrastPayloadHash shows two messages that Watermill's hashes take for
// one, since they look at the payload alone, and that are two to Middleware.
func TestContrastPayloadHash(t *testing.T) {
	t.Parallel()
	pause, resume := newMessage("", "k1", `{"id":"1"}`), newMessage("", "k2", `{"id":"1"}`)
	hash := middleware.NewMessageHasherSHA256(1 << 20)
	a, err := hash(pause)
	require.NoError(t, err)
	b, err := hash(resume)
	require.NoError(t, err)
	require.Equal(t, a, b)
	runs := 0
	h := byKey(t, watermillcqrs.MiddlewareOptions{})(func(*message.Message) ([]*message.Message, error) { runs++; return nil, nil })
	for _, msg := range []*message.Message{pause, resume} {
		_, err := h(msg)
		require.NoError(t, err)
	}
	require.Equal(t, 2, runs)
}

// TestWindow shows the command hash as the key: two commands that say the same
// are one, for the window.
func TestWindow(t *testing.T) {
	t.Parallel()
	once, err := watermillcqrs.New(newGuard(t), watermillcqrs.For("order.create.v1", semelcqrs.Options[CreateOrder]{Window: time.Hour}))
	require.NoError(t, err)
	runs := 0
	call := func(c CreateOrder) {
		require.NoError(t, once.OnCommand(func(wmcqrs.CommandProcessorOnHandleParams) error { runs++; return nil })(
			wmcqrs.CommandProcessorOnHandleParams{Command: &c, Message: newMessage("", "", "")}))
	}
	call(CreateOrder{Customer: "c1", SentAt: time.Now()})
	call(CreateOrder{Customer: "c1", SentAt: time.Now().Add(time.Second)})
	require.Equal(t, 1, runs)
	call(CreateOrder{Customer: "c2"})
	require.Equal(t, 2, runs)
}
