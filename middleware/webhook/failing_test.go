package webhook_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	semelhttp "github.com/semel-go/semel/middleware"
	"github.com/semel-go/semel/middleware/webhook"
)

// TestTimeoutInside: http.TimeoutHandler inside Once answers while its goroutine
// works on. What that then says of the event comes too late to count.
func TestTimeoutInside(t *testing.T) {
	eachStore(t, idempotency.Options{}, func(t *testing.T, e env) {
		end := make(chan struct{})
		var late sync.WaitGroup
		late.Add(1)
		h := webhook.Handle(func(ctx context.Context, _ webhook.Event) error {
			defer late.Done()
			<-end
			if claim, ok := idempotency.ClaimFrom(ctx); ok {
				claim.Keep()
			}
			return webhook.Permanent(errBoom)
		})
		s := e.serve(t, maker{}, webhook.Options{}, http.TimeoutHandler(h, time.Millisecond, ""))
		require.Equal(t, http.StatusServiceUnavailable, s.deliver(t, evt1).status)
		close(end)
		late.Wait()
		s = e.serve(t, maker{}, webhook.Options{}, webhook.Handle(nothing))
		for _, replayed := range []bool{false, true} {
			got := s.deliver(t, evt1)
			require.Equal(t, http.StatusOK, got.status)
			require.Equal(t, replayed, got.replayed())
		}
	})
}

func TestGoexit(t *testing.T) {
	t.Parallel()
	e := inMemory(t, idempotency.Options{})
	runs := 0
	h := webhook.Once(e.guard, "x", maker{}, webhook.Options{})(webhook.Handle(func(context.Context, webhook.Event) error {
		if runs++; runs == 1 {
			runtime.Goexit()
		}
		return nil
	}))
	status := 0
	for range 2 {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			w := newWriter()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(evt1))
			r.Header.Set("Maker-Signature", signature([]byte(evt1)))
			h.ServeHTTP(w, r)
			status = w.status
		}()
		<-ended
	}
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, 2, runs)
}

// TestFailOpen: a guard that fails open runs the handler without a claim, and
// what it returns is answered as ever.
func TestFailOpen(t *testing.T) {
	t.Parallel()
	for want, err := range map[int]error{200: webhook.Permanent(errBoom), 500: errBoom, 503: idempotency.Unknown(errBoom)} {
		e := inMemory(t, idempotency.Options{FailOpen: true, Lease: 100 * time.Millisecond})
		runs := 0
		s := e.serve(t, maker{}, webhook.Options{}, webhook.Handle(func(ctx context.Context, _ webhook.Event) error {
			if _, claimed := idempotency.ClaimFrom(ctx); !claimed {
				runs++
			}
			return err
		}))
		e.lose()
		require.Equal(t, want, s.deliver(t, `[{"id":"1"},{"id":"2"}]`).status)
		require.Equal(t, 2, runs)
	}
}

// TestBatchPanics: what went before the panic is done, the rest is delivered
// again.
func TestBatchPanics(t *testing.T) {
	eachStore(t, idempotency.Options{}, func(t *testing.T, e env) {
		runs := map[string]int{}
		s := e.serve(t, maker{}, webhook.Options{}, webhook.Handle(func(_ context.Context, ev webhook.Event) error {
			if runs[ev.ID]++; ev.ID == "2" && runs["2"] == 1 {
				panic(http.ErrAbortHandler)
			}
			return nil
		}))
		batch := `[{"id":"1"},{"id":"2"},{"id":"3"},{"id":"1"}]`
		_, err := s.trySend(t.Context(), batch, signature([]byte(batch)))
		require.Error(t, err)
		require.Equal(t, http.StatusOK, s.deliver(t, batch).status)
		require.Equal(t, map[string]int{"1": 1, "2": 2, "3": 1}, runs)
	})
}

// TestLateWriters: goroutines that a handler leaves behind reach neither the
// answer nor the next event's.
func TestLateWriters(t *testing.T) {
	t.Parallel()
	e := inMemory(t, idempotency.Options{})
	var late sync.WaitGroup
	s := e.serve(t, maker{}, webhook.Options{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		returned := r.Context().Done() // ends with the run, and not before
		late.Go(func() {
			<-returned
			for range 100 {
				_, _ = io.WriteString(w, "late")
				_ = http.NewResponseController(w).Flush()
				_, _ = io.ReadAll(r.Body)
				if claim, ok := idempotency.ClaimFrom(r.Context()); ok {
					claim.Keep()
				}
			}
		})
		_, _ = io.WriteString(w, "in time")
	}))
	for i := range 20 {
		require.Equal(t, http.StatusOK, s.deliver(t, fmt.Sprintf(`[{"id":"%da"},{"id":"%db"},{"id":"%da"}]`, i, i, i)).status)
		require.Equal(t, "in time", s.deliver(t, fmt.Sprintf(`{"id":"%dc"}`, i)).body)
	}
	late.Wait()
	require.Equal(t, "in time", s.deliver(t, `{"id":"0a"}`).body)
}

// TestInsideIdempotency: an API's middleware stands before a webhook's route,
// on the same guard.
func TestInsideIdempotency(t *testing.T) {
	eachStore(t, idempotency.Options{}, func(t *testing.T, e env) {
		var runs atomic.Int64
		once := webhook.Once(e.guard, "billing", maker{}, webhook.Options{})
		outer := semelhttp.Idempotency(e.guard, semelhttp.SharedScope(), semelhttp.IdempotencyOptions{})
		s := newSite(t, outer(once(count(&runs, func(n int64) int { return []int{500, 200}[min(n, 2)-1] }))))
		post := func(key, sig string) int {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader(evt1))
			require.NoError(t, err)
			req.Header.Set("Maker-Signature", sig)
			req.Header.Set("Idempotency-Key", key)
			res, err := s.Client().Do(req)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			return res.StatusCode
		}
		genuine := signature([]byte(evt1))
		require.Equal(t, http.StatusUnauthorized, post("k1", "wrong"))
		require.Equal(t, http.StatusInternalServerError, post("k1", genuine), "the refusal is not what the key stands for")
		for _, key := range []string{"k1", "k1", "k2"} {
			require.Equal(t, http.StatusOK, post(key, genuine))
		}
		require.EqualValues(t, 2, runs.Load())
	})
}
