package watermillcqrs_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/cqrs/watermillcqrs"
	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/lock"
)

func TestDelay(t *testing.T) {
	t.Parallel()
	held := func(d time.Duration) error { return &idempotency.InProgressError{RetryAfter: d} }
	for name, tc := range map[string]struct {
		err  error
		want time.Duration
	}{
		"success":                  {nil, 0},
		"the handler's own error":  {errFails, 0},
		"final, whatever is in it": {idempotency.Final(idempotency.ErrUnavailable), 0},
		"the rest of the lease":    {held(2 * time.Second), 2 * time.Second},
		"not too short":            {held(time.Millisecond), 100 * time.Millisecond},
		"not too long":             {held(time.Minute), 5 * time.Second},
		"unknown":                  {held(0), time.Second},
		"as the handler says":      {idempotency.RetryAfter(3*time.Second, errFails), 3 * time.Second},
		"a lock":                   {&lock.HeldError{Remaining: 2 * time.Second}, 2 * time.Second},
		"store away":               {idempotency.ErrUnavailable, time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			out := []*message.Message{message.NewMessage("", nil)}
			h := watermillcqrs.Delay(watermillcqrs.DelayOptions{})(func(*message.Message) ([]*message.Message, error) { return out, tc.err })
			began := time.Now()
			got, err := h(message.NewMessage("", nil))
			require.Equal(t, tc.err, err, name)
			require.Equal(t, out, got)
			require.Equal(t, tc.want, time.Since(began), name)
		})
	}
}

// TestDelayEndsWithTheMessage: it is the context that the message came with which
// counts, not the ended one that Watermill's Timeout leaves in it.
func TestDelayEndsWithTheMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ended, end := context.WithCancel(t.Context())
		end()
		h := watermillcqrs.Delay(watermillcqrs.DelayOptions{})(func(msg *message.Message) ([]*message.Message, error) {
			msg.SetContext(ended)
			return nil, idempotency.ErrUnavailable
		})
		began := time.Now()
		_, err := h(message.NewMessage("", nil))
		require.ErrorIs(t, err, idempotency.ErrUnavailable)
		require.Equal(t, time.Second, time.Since(began))

		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		began = time.Now()
		_, err = h(message.NewMessageWithContext(ctx, "", nil))
		require.ErrorIs(t, err, idempotency.ErrUnavailable)
		require.Equal(t, 300*time.Millisecond, time.Since(began))
	})
}

func TestDelayOptions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		h := watermillcqrs.Delay(watermillcqrs.DelayOptions{Min: 10 * time.Second, Pause: time.Minute})(func(msg *message.Message) ([]*message.Message, error) {
			if msg.UUID == "held" {
				return nil, &idempotency.InProgressError{RetryAfter: time.Second}
			}
			return nil, idempotency.ErrUnavailable
		})
		_, _ = h(message.NewMessage("held", nil))
		require.Equal(t, 10*time.Second, time.Since(began), "Max is at least Min")
		_, _ = h(message.NewMessage("", nil))
		require.Equal(t, 70*time.Second, time.Since(began))
	})
	for _, o := range []watermillcqrs.DelayOptions{{Min: -1}, {Pause: -1}, {Min: 2, Max: 1}, {Max: -1}} {
		require.Panics(t, func() { watermillcqrs.Delay(o) })
	}
}
