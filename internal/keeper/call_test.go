package keeper_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/keeper"
)

// op is a request that takes its time, deaf to its context.
type op struct {
	keeper.Call
	takes time.Duration
	ran   atomic.Int32
	late  atomic.Int32
}

func (o *op) Run(context.Context) {
	time.Sleep(o.takes)
	o.ran.Add(1)
}

func (o *op) Late() { o.late.Add(1) }

func TestDoLeavesWhatTakesTooLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := keeper.New(keeper.Config{})
		o := &op{takes: time.Hour}
		start := time.Now()
		ran, finished := k.Do(t.Context(), time.Second, o, &o.Call)
		require.True(t, ran)
		require.False(t, finished)
		require.Equal(t, time.Second, time.Since(start))
		require.ErrorIs(t, o.Err(), context.DeadlineExceeded)
		require.Zero(t, o.late.Load())
		require.NoError(t, k.Close(t.Context(), nil), "Close waits for it")
		require.Equal(t, time.Hour, time.Since(start))
		require.EqualValues(t, 1, o.late.Load())
		ran, _ = k.Do(t.Context(), time.Second, &op{}, &(&op{}).Call)
		require.False(t, ran)
	})
}

// The end of the time, of the context and of the request race here: each
// request is told once how it ended, and never how another did.
func TestDoEndsEachCallOnce(t *testing.T) {
	t.Parallel()
	k := keeper.New(keeper.Config{})
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range 200 {
				around := time.Duration(rand.N(200)) * time.Microsecond
				ctx, cancel := context.WithTimeout(t.Context(), around+rand.N(100*time.Microsecond))
				o := &op{takes: around}
				ran, finished := k.Do(ctx, around+rand.N(100*time.Microsecond), o, &o.Call)
				require.True(t, ran)
				if finished {
					require.EqualValues(t, 1, o.ran.Load(), "told of another's return")
				} else {
					require.Error(t, o.Err())
					require.Eventually(t, func() bool { return o.late.Load() == 1 }, time.Minute, time.Millisecond)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	require.NoError(t, k.Close(t.Context(), nil))
}

// attentive is a request that ends with its context, and says why it did.
type attentive struct {
	op

	asks func(ctx context.Context) error
	got  error
}

func (a *attentive) Run(ctx context.Context) { a.got = a.asks(ctx) }

// TestCallEndsWithItsCaller: also where the request runs on the caller's own
// goroutine, with nobody beside it, and however it asks.
func TestCallEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	for name, asks := range map[string]func(context.Context) error{
		"Done": func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		},
		"Err": func(ctx context.Context) error {
			for ctx.Err() == nil {
				time.Sleep(time.Millisecond)
			}
			return ctx.Err()
		},
		"Err, then Done": func(ctx context.Context) error {
			for ctx.Err() == nil {
				time.Sleep(time.Millisecond)
			}
			<-ctx.Done()
			return ctx.Err()
		},
		"a context made from it": func(ctx context.Context) error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			<-ctx.Done()
			return ctx.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := keeper.New(keeper.Config{Interruptible: true})
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				a, start := &attentive{asks: asks}, time.Now()
				_, finished := k.Do(ctx, time.Hour, a, &a.Call)
				require.True(t, finished)
				require.ErrorIs(t, a.got, context.Canceled)
				require.Less(t, time.Since(start), 2*time.Second)

				a = &attentive{asks: asks}
				_, finished = k.Do(t.Context(), time.Second, a, &a.Call)
				require.True(t, finished)
				require.ErrorIs(t, a.got, context.DeadlineExceeded)
				select {
				case <-a.Done():
				default:
					require.Fail(t, "a call that has returned is over")
				}
				require.NoError(t, k.Close(t.Context(), nil))
			})
		})
	}
}
