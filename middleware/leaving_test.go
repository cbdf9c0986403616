package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/lock"
	semelhttp "github.com/semel-go/semel/middleware"
	"github.com/semel-go/semel/observe"
)

// A client hangs up while its request runs. The handler's context tells it so,
// unless it is detached; in both cases it is run once and the retry replays.
func TestClientThatLeaves(t *testing.T) {
	eachStore(t, func(t *testing.T, env env) {
		for _, detach := range []time.Duration{0, time.Hour} {
			var calls counter
			started, left := make(chan struct{}), make(chan struct{})
			ended := make(chan error, 1)
			body := strings.Repeat("x", 100_000) // more than the connection would buffer
			guard := env.guard(t, idempotency.Options{})
			protected := semelhttp.Idempotency(guard, semelhttp.SharedScope(), semelhttp.IdempotencyOptions{Detach: detach})(
				http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					calls.next()
					close(started)
					<-left
					ended <- r.Context().Err()
					for rest := body; rest != ""; rest = rest[1000:] {
						if _, err := io.WriteString(w, rest[:1000]); err != nil {
							panic(err)
						}
					}
				}))
			done := make(chan struct{})
			s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Leaves") != "" {
					defer close(done)
					context.AfterFunc(r.Context(), func() { close(left) })
				}
				protected.ServeHTTP(w, r)
			}))
			ctx, leave := context.WithCancel(t.Context())
			key := fmt.Sprint(detach)
			go func() { <-started; leave() }()
			r := s.request(http.MethodPost, "/", key, nil).WithContext(ctx)
			r.Header.Set("Leaves", "yes")
			_, err := s.try(r)
			require.ErrorIs(t, err, context.Canceled)
			<-done
			if detach > 0 {
				require.NoError(t, <-ended, "nobody tells a detached handler")
			} else {
				require.ErrorIs(t, <-ended, context.Canceled)
			}
			a := s.post("/", key, "")
			require.True(t, a.replayed())
			require.Equal(t, body, a.body)
			require.Equal(t, 1, calls.total())
		}
	})
}

func TestDetachedHandlerHasADeadline(t *testing.T) {
	t.Parallel()
	s := inMemory(t).protect(t, func(w http.ResponseWriter, r *http.Request) {
		if _, ok := r.Context().Deadline(); !ok {
			panic("no deadline")
		}
		<-r.Context().Done()
		_, _ = fmt.Fprint(w, r.Context().Err())
	}, semelhttp.IdempotencyOptions{Detach: 20 * time.Millisecond})
	require.Equal(t, context.DeadlineExceeded.Error(), s.post("/", "k", "").body)
	require.True(t, s.post("/", "k", "").replayed(), "what it then did counts")
}

// The context ends with the claim, whatever else it is detached from.
func TestHandlerLearnsThatItsClaimIsLost(t *testing.T) {
	t.Parallel()
	for _, detach := range []time.Duration{0, time.Hour} {
		store := &faulty{Store: inMemory(t).store}
		store.onRenew.set(func(context.Context) error { return lock.ErrTaken })
		s := env{store: store}.protect(t, func(w http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			_, _ = fmt.Fprint(w, errors.Is(context.Cause(r.Context()), idempotency.ErrLost))
		}, semelhttp.IdempotencyOptions{Detach: detach, Lease: 50 * time.Millisecond, Retention: time.Hour})
		require.Equal(t, "true", s.post("/", "k", "").body, "the first caller has its answer")
	}
}

// Somebody who waits for another's run, and leaves, is gone at once.
func TestClientThatLeavesWhileItWaits(t *testing.T) {
	t.Parallel()
	for _, detach := range []time.Duration{0, time.Hour} {
		var calls counter
		started, finish := make(chan struct{}), make(chan struct{})
		guard := inMemory(t).guard(t, idempotency.Options{})
		protected := semelhttp.Idempotency(guard, semelhttp.SharedScope(), semelhttp.IdempotencyOptions{Detach: detach, Wait: time.Hour})(
			http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				calls.next()
				close(started)
				<-finish
			}))
		send := func(ctx context.Context) *httptest.ResponseRecorder {
			r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil)
			r.Header.Set("Idempotency-Key", "k")
			w := httptest.NewRecorder()
			protected.ServeHTTP(w, r)
			return w
		}
		first := make(chan int, 1)
		go func() { first <- send(t.Context()).Code }()
		<-started
		ctx, leave := context.WithTimeout(t.Context(), 20*time.Millisecond)
		// Who has ended the context may still be there to read the answer, and
		// must not be told 200.
		w := send(ctx)
		leave()
		require.Equal(t, http.StatusConflict, w.Code)
		require.Contains(t, w.Body.String(), semelhttp.CodeInProgress)
		require.Equal(t, http.StatusServiceUnavailable, send(ctx).Code, "it had ended before")
		close(finish)
		require.Equal(t, http.StatusOK, <-first)
		require.Equal(t, 1, calls.total())
	}
}

// A detached handler is not begun for a client that has left.
func TestClientThatLeavesBeforeItsHandlerIsCalled(t *testing.T) {
	t.Parallel()
	var calls counter
	ctx, leave := context.WithCancel(t.Context())
	guard := inMemory(t).guard(t, idempotency.Options{
		Observer: observe.Func(func(_ context.Context, e observe.Event) {
			if e.Kind == observe.Acquired {
				leave()
			}
		}),
	})
	protected := semelhttp.Idempotency(guard, semelhttp.SharedScope(), semelhttp.IdempotencyOptions{Detach: time.Hour})(
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.next() }))
	send := func(ctx context.Context) int {
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil)
		r.Header.Set("Idempotency-Key", "k")
		w := httptest.NewRecorder()
		protected.ServeHTTP(w, r)
		return w.Code
	}
	require.Equal(t, http.StatusServiceUnavailable, send(ctx))
	require.Zero(t, calls.total())
	require.Equal(t, http.StatusOK, send(t.Context()), "and the key is free")
	require.Equal(t, 1, calls.total())
}

// Go's client sends a request with a key again by itself if a connection that
// it used before dies.
func TestClientThatRepeatsByItself(t *testing.T) {
	eachStore(t, func(t *testing.T, env env) {
		var arrived, calls counter
		guard := env.guard(t, idempotency.Options{})
		protected := semelhttp.Idempotency(guard, semelhttp.SharedScope(), semelhttp.IdempotencyOptions{})(
			http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = fmt.Fprint(w, r.URL.Path, calls.next())
			}))
		s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			protected.ServeHTTP(w, r)
			if arrived.next() == 2 {
				panic(http.ErrAbortHandler) // the effect has happened, the answer is lost
			}
		}))
		require.Equal(t, "/first1", s.post("/first", "a", "").body)
		a := s.post("/second", "b", "body")
		require.Equal(t, "/second2", a.body)
		require.True(t, a.replayed())
		require.Equal(t, 3, arrived.total())
		require.Equal(t, 2, calls.total())
	})
}
