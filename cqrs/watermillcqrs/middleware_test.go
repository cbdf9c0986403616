package watermillcqrs_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	semelcqrs "github.com/semel-go/semel/cqrs"
	"github.com/semel-go/semel/cqrs/watermillcqrs"
	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/memstore"
)

// byKey is the middleware most tests use.
func byKey(t *testing.T, o watermillcqrs.MiddlewareOptions) message.HandlerMiddleware {
	t.Helper()
	return watermillcqrs.Middleware(newGuard(t), watermillcqrs.MetadataKey("key"), o)
}

func TestMiddlewareFailureIsDeliveredAgain(t *testing.T) {
	t.Parallel()
	runs := 0
	h := byKey(t, watermillcqrs.MiddlewareOptions{})(func(msg *message.Message) ([]*message.Message, error) {
		runs++
		claim, ok := idempotency.ClaimFrom(msg.Context())
		require.True(t, ok)
		require.NotZero(t, claim.Fence())
		require.Equal(t, idempotency.Key{Scope: idempotency.Scope("message", "orders"), ID: "k"}, claim.Key(), "as operators know it")
		switch runs {
		case 1:
			return nil, errFails
		case 2:
			panic("the handler panics")
		}
		return nil, nil
	})
	msg := newMessage("u1", "k", "p")
	outer := msg.Context()
	_, err := h(msg)
	require.ErrorIs(t, err, errFails)
	require.Equal(t, outer, msg.Context())
	require.Panics(t, func() { _, _ = h(msg) })
	require.Equal(t, outer, msg.Context(), "a panic leaves no context that has ended")
	for range 3 {
		_, err = h(msg)
		require.NoError(t, err)
	}
	require.Equal(t, 3, runs)
}

// TestMiddlewarePublishesTheSameAgain has the broker refuse what the handler
// produced, when it is on record: the message is delivered again, does not run
// again, and what it produced is published all the same, under the same UUIDs.
func TestMiddlewarePublishesTheSameAgain(t *testing.T) {
	t.Parallel()
	s := newService(t)
	pub := &publisher{refuse: 2}
	var runs atomic.Int32
	s.router.AddMiddleware(byKey(t, watermillcqrs.MiddlewareOptions{}))
	s.router.AddHandler("orders", topic, s.broker, "placed", pub, func(msg *message.Message) ([]*message.Message, error) {
		runs.Add(1)
		out := msg.Copy() // has a UUID, and metadata
		out.UUID = "produced"
		out.Payload = []byte("placed")
		return message.Messages{out, message.NewMessage("produced too", nil)}, nil
	})
	s.run()
	msg := message.NewMessage("u1", []byte("p"))
	msg.Metadata.Set("key", "k1")
	require.NoError(t, s.broker.Publish(topic, msg))
	require.Eventually(t, func() bool { return len(pub.taken()) == 2 }, patience, time.Millisecond)
	first := pub.taken()

	msg.UUID = "another UUID, as a sender's retry has"
	require.NoError(t, s.broker.Publish(topic, msg))
	require.Eventually(t, func() bool { return len(pub.taken()) == 4 }, patience, time.Millisecond)
	again := pub.taken()[2:]
	for i, m := range first {
		require.True(t, m.Equals(again[i]))
	}
	require.Equal(t, "produced", first[0].UUID)
	require.Equal(t, "placed", string(first[0].Payload))
	require.Equal(t, "k1", first[0].Metadata.Get("key"))
	require.EqualValues(t, 1, runs.Load())
}

func TestMiddlewareSilent(t *testing.T) {
	t.Parallel()
	for name, guard := range map[string]*idempotency.Guard{
		"with results":    newGuard(t),
		"without results": newGuard(t).With(idempotency.Options{MaxResult: idempotency.NoResults}),
	} {
		mw := watermillcqrs.Middleware(guard, watermillcqrs.MetadataKey("key"), watermillcqrs.MiddlewareOptions{Silent: true})
		fail := true
		h := mw(func(*message.Message) ([]*message.Message, error) {
			if fail {
				return nil, idempotency.Final(errFails)
			}
			return message.Messages{message.NewMessage("produced", nil)}, nil
		})
		_, err := deliver(h, "", "fails", "p")
		require.ErrorIs(t, err, errFails, name)
		fail = false
		produced, err := deliver(h, "", "k", "p")
		require.NoError(t, err, name)
		require.Len(t, produced, 1, name)
		produced, err = deliver(h, "", "k", "p")
		require.NoError(t, err, name)
		require.Empty(t, produced, name)

		_, err = deliver(h, "", "k", "another")
		require.ErrorIs(t, err, idempotency.ErrMismatch, name)
		if name == "with results" {
			_, err = deliver(h, "", "fails", "p")
			require.ErrorContains(t, err, errFails.Error(), "a failure is not passed over in silence")
		}
	}
}

// TestMiddlewareLostOutput shows that what cannot be published again is not
// taken for published.
func TestMiddlewareLostOutput(t *testing.T) {
	t.Parallel()
	guard := newGuard(t).With(idempotency.Options{MaxResult: 16})
	runs := 0
	h := watermillcqrs.Middleware(guard, watermillcqrs.MetadataKey("key"), watermillcqrs.MiddlewareOptions{})(
		func(*message.Message) ([]*message.Message, error) {
			runs++
			return message.Messages{message.NewMessage("produced", make([]byte, 32))}, nil
		})
	produced, err := deliver(h, "", "k", "p")
	require.NoError(t, err)
	require.Len(t, produced, 1)
	_, err = deliver(h, "", "k", "p")
	require.ErrorIs(t, err, idempotency.ErrResultUnavailable)
	require.True(t, watermillcqrs.ShouldPoison(err))
	require.Equal(t, 1, runs)
}

func TestMiddlewareKeys(t *testing.T) {
	t.Parallel()
	runs := 0
	next := func(*message.Message) ([]*message.Message, error) { runs++; return nil, nil }
	guard := newGuard(t)
	strict := watermillcqrs.Middleware(guard, watermillcqrs.MetadataKey("key"), watermillcqrs.MiddlewareOptions{})(next)
	handle := func(handler, key, name, payload string) error {
		msg := newMessage("the same UUID", key, payload)
		msg.Metadata.Set("name", name)
		msg.SetContext(handlerContext(handler))
		_, err := strict(msg)
		return err
	}
	require.NoError(t, handle("orders", "k", "Pause", "{}"))
	require.NoError(t, handle("orders", "k", "Pause", "{}"))
	require.Equal(t, 1, runs)
	require.NoError(t, handle("mails", "k", "Pause", "{}"))
	require.Equal(t, 2, runs, "each handler of the topic sees the message")
	require.NoError(t, handle("orders", "k2", "Pause", "{}"))
	require.Equal(t, 3, runs, "a UUID is no key")

	require.ErrorIs(t, handle("orders", "k", "Resume", "{}"), idempotency.ErrMismatch, "another command with the same payload")
	require.ErrorIs(t, handle("orders", "k", "Pause", "{ }"), idempotency.ErrMismatch)
	require.ErrorIs(t, handle("orders", "", "Pause", "{}"), semelcqrs.ErrNoKey)
	require.Equal(t, 3, runs)

	loose := watermillcqrs.Middleware(guard, func(*message.Message) (string, error) { return "k", nil },
		watermillcqrs.MiddlewareOptions{Content: watermillcqrs.AnyContent})(next)
	_, err := deliver(loose, "", "", "another")
	require.NoError(t, err)
	require.Equal(t, 3, runs)

	odd := errors.New("odd")
	for name, tc := range map[string]struct {
		key     func(*message.Message) (string, error)
		content func(*message.Message) ([]byte, error)
		want    error
	}{
		"empty key":     {func(*message.Message) (string, error) { return "", nil }, nil, semelcqrs.ErrNoKey},
		"key error":     {func(*message.Message) (string, error) { return "k", odd }, nil, odd},
		"content error": {watermillcqrs.MetadataKey("key"), func(*message.Message) ([]byte, error) { return nil, odd }, odd},
	} {
		_, err := deliver(watermillcqrs.Middleware(guard, tc.key, watermillcqrs.MiddlewareOptions{Content: tc.content})(next), "", "new", "p")
		require.ErrorIs(t, err, tc.want, name)
	}
	_, err = strict(message.NewMessage("u", nil))
	require.ErrorIs(t, err, semelcqrs.ErrNoScope, "no router")
	require.Equal(t, 3, runs)
}

// TestMiddlewareOutputOutlivesTheRun shows that a message to which the handler
// gave its own context can be published: publishers look at it.
func TestMiddlewareOutputOutlivesTheRun(t *testing.T) {
	t.Parallel()
	type key struct{}
	h := byKey(t, watermillcqrs.MiddlewareOptions{})(func(msg *message.Message) ([]*message.Message, error) {
		msg.SetContext(context.WithValue(msg.Context(), key{}, "v"))
		return message.Messages{msg.CopyWithContext(), message.NewMessage("", nil)}, nil
	})
	produced, err := deliver(h, "", "k", "p")
	require.NoError(t, err)
	for _, m := range produced {
		require.NoError(t, m.Context().Err())
	}
	require.Equal(t, "v", produced[0].Context().Value(key{}))
}

func TestMiddlewareUnavailable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // closing waits until the claim in doubt has ended
		store, err := memstore.New(memstore.Options{})
		require.NoError(t, err)
		guard, err := idempotency.New(store, idempotency.Options{})
		require.NoError(t, err)
		h := watermillcqrs.Middleware(guard, watermillcqrs.MetadataKey("key"), watermillcqrs.MiddlewareOptions{})(
			func(*message.Message) ([]*message.Message, error) { t.Error("it ran"); return nil, nil })
		require.NoError(t, store.Close())
		_, err = deliver(h, "", "k", "p")
		require.ErrorIs(t, err, idempotency.ErrUnavailable)
		require.False(t, watermillcqrs.ShouldPoison(err))
		require.NoError(t, guard.Close(t.Context()))
		_, err = deliver(h, "", "k", "p")
		require.ErrorIs(t, err, idempotency.ErrClosed)
		require.False(t, watermillcqrs.ShouldPoison(err))
	})
}

func TestMiddlewarePanics(t *testing.T) {
	t.Parallel()
	guard := newGuard(t)
	key := watermillcqrs.MetadataKey("key")
	require.Panics(t, func() { watermillcqrs.Middleware(nil, key, watermillcqrs.MiddlewareOptions{}) })
	require.Panics(t, func() { watermillcqrs.Middleware(guard, nil, watermillcqrs.MiddlewareOptions{}) })
	require.Panics(t, func() {
		watermillcqrs.Middleware(guard.With(idempotency.Options{Lease: -1}), key, watermillcqrs.MiddlewareOptions{})
	})
}

// publisher refuses its first calls.
type publisher struct {
	mu     sync.Mutex
	refuse int
	got    []*message.Message
}

func (p *publisher) Publish(_ string, ms ...*message.Message) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refuse > 0 {
		p.refuse--
		return errors.New("the broker is away")
	}
	p.got = append(p.got, ms...)
	return nil
}

func (p *publisher) Close() error { return nil }

func (p *publisher) taken() []*message.Message {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]*message.Message(nil), p.got...)
}
