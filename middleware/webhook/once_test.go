package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/observe"
)

const evt1 = `{"id":"evt_1","resource":"in_1"}`

// count returns a handler that counts its runs and answers as nth says.
func count(n *atomic.Int64, nth func(n int64) int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		status := nth(n.Add(1))
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, "run %d", n.Load())
	})
}

func always(status int) func(int64) int { return func(int64) int { return status } }

func TestOnceReplays(t *testing.T) {
	eachStore(t, idempotency.Options{}, func(t *testing.T, e env) {
		var runs atomic.Int64
		s := e.serve(t, maker{}, webhook.Options{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			runs.Add(1)
			ev, ok := webhook.EventFrom(r.Context())
			body, err := io.ReadAll(r.Body)
			if !ok || err != nil || string(body) != evt1 || string(ev.Body) != evt1 || r.ContentLength != int64(len(evt1)) ||
				ev.ID != "evt_1" || ev.Provider != "maker" || ev.Endpoint != "billing" {
				http.Error(w, fmt.Sprint(ev, string(body), err), http.StatusTeapot)
				return
			}
			w.Header().Set("X-Handled", "yes")
			w.WriteHeader(http.StatusAccepted)
			_, _ = io.WriteString(w, "done")
		}))
		first := s.deliver(t, evt1)
		require.Equal(t, http.StatusAccepted, first.status, first.body)
		require.False(t, first.replayed())
		again := s.deliver(t, evt1)
		require.True(t, again.replayed())
		require.Equal(t, first.status, again.status)
		require.Equal(t, "done", again.body)
		require.Equal(t, "yes", again.header.Get("X-Handled"))
		require.EqualValues(t, 1, runs.Load())
		require.Equal(t, http.StatusAccepted, s.deliver(t, `{"id":"evt_1","resource":"in_1","note":"pending_webhooks differs"}`).status,
			"bodies of one event may differ")
	})
}

func TestOnceRunsAgainWhatFailed(t *testing.T) {
	eachStore(t, idempotency.Options{}, func(t *testing.T, e env) {
		var runs atomic.Int64
		s := e.serve(t, maker{}, webhook.Options{}, count(&runs, func(n int64) int {
			return []int{http.StatusInternalServerError, http.StatusBadRequest, http.StatusFound, http.StatusOK}[min(n, 4)-1]
		}))
		for _, want := range []int{500, 400, 302, 200, 200, 200} {
			require.Equal(t, want, s.deliver(t, evt1).status)
		}
		require.EqualValues(t, 4, runs.Load(), "only a 2xx is final")
	})
}

func TestOnceConcurrentDuplicates(t *testing.T) {
	eachStore(t, idempotency.Options{}, func(t *testing.T, e env) {
		var runs atomic.Int64
		running, end := make(chan struct{}), make(chan struct{})
		s := e.serve(t, maker{}, webhook.Options{}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			runs.Add(1)
			close(running)
			<-end
		}))
		first := make(chan reply)
		go func() { first <- s.deliver(t, evt1) }()
		<-running
		for range 9 {
			busy := s.deliver(t, evt1)
			require.Equal(t, http.StatusConflict, busy.status)
			require.Equal(t, "5", busy.header.Get("Retry-After"))
		}
		close(end)
		require.Equal(t, http.StatusOK, (<-first).status)
		require.True(t, s.deliver(t, evt1).replayed())
		require.EqualValues(t, 1, runs.Load())
	})
}

func TestOnceWaits(t *testing.T) {
	eachStore(t, idempotency.Options{}, func(t *testing.T, e env) {
		var runs atomic.Int64
		s := e.serve(t, maker{policy: webhook.Policy{Wait: 10 * time.Second}}, webhook.Options{}, count(&runs, always(http.StatusOK)))
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if r := s.deliver(t, evt1); r.status != http.StatusOK || r.body != "run 1" {
					t.Errorf("%d %s", r.status, r.body)
				}
			})
		}
		all.Wait()
		require.EqualValues(t, 1, runs.Load())
	})
}

// TestOncePatience shows that no duplicate waits for more than half the time
// that the provider does.
func TestOncePatience(t *testing.T) {
	t.Parallel()
	e := inMemory(t, idempotency.Options{})
	running, end := make(chan struct{}), make(chan struct{})
	s := e.serve(t, maker{policy: webhook.Policy{Wait: time.Hour, Patience: 20 * time.Millisecond}}, webhook.Options{},
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(running); <-end }))
	first := make(chan reply)
	go func() { first <- s.deliver(t, evt1) }()
	<-running
	require.Equal(t, http.StatusConflict, s.deliver(t, evt1).status)
	close(end)
	<-first
}

// TestOnceGuardWait: the Guard's Wait is that of its other users.
func TestOnceGuardWait(t *testing.T) {
	t.Parallel()
	e := inMemory(t, idempotency.Options{Wait: time.Hour})
	running, end := make(chan struct{}), make(chan struct{})
	s := e.serve(t, maker{}, webhook.Options{}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(running); <-end }))
	first := make(chan reply)
	go func() { first <- s.deliver(t, evt1) }()
	<-running
	require.Equal(t, http.StatusConflict, s.deliver(t, evt1).status)
	close(end)
	<-first
}

// TestOnceTwice: Once stands twice in the way of a delivery.
func TestOnceTwice(t *testing.T) {
	t.Parallel()
	e := inMemory(t, idempotency.Options{})
	once := webhook.Once(e.guard, "billing", maker{}, webhook.Options{})
	runs, results := 0, []error{errBoom, webhook.Permanent(errBoom)}
	s := newSite(t, once(once(webhook.Handle(func(context.Context, webhook.Event) error { runs++; return results[runs-1] }))))
	require.Equal(t, http.StatusInternalServerError, s.deliver(t, evt1).status)
	for _, replayed := range []bool{false, true} {
		got := s.deliver(t, evt1)
		require.Equal(t, http.StatusOK, got.status)
		require.Equal(t, replayed, got.replayed())
	}
	require.Equal(t, 2, runs)
	require.Equal(t, http.StatusUnauthorized, s.send(t, evt1, "wrong").status)
}

func TestOnceEndpoints(t *testing.T) {
	eachStore(t, idempotency.Options{}, func(t *testing.T, e env) {
		runs := map[string]int{}
		r := chi.NewRouter()
		mux := http.NewServeMux()
		for _, name := range []string{"billing", "mail"} {
			h := webhook.Handle(func(context.Context, webhook.Event) error { runs[name]++; return nil })
			r.With(webhook.Once(e.guard, name, maker{}, webhook.Options{})).Method(http.MethodPost, "/"+name, h)
			mux.Handle("POST /again/"+name, webhook.Once(e.guard, name, maker{}, webhook.Options{})(h))
		}
		mux.Handle("/", r)
		s := newSite(t, mux)
		for _, path := range []string{"/billing", "/mail", "/billing", "/again/mail", "/again/billing"} {
			require.Equal(t, http.StatusOK, s.at(path).deliver(t, evt1).status)
		}
		require.Equal(t, map[string]int{"billing": 1, "mail": 1}, runs)
	})
}

func TestOnceTenants(t *testing.T) {
	t.Parallel()
	e := inMemory(t, idempotency.Options{})
	var runs atomic.Int64
	s := e.serve(t, maker{}, webhook.Options{}, count(&runs, always(http.StatusOK)))
	for _, body := range []string{`{"id":"1","tenant":"a"}`, `{"id":"1","tenant":"b"}`, `{"id":"1"}`, `{"id":"1","tenant":"a"}`} {
		require.Equal(t, http.StatusOK, s.deliver(t, body).status)
	}
	require.EqualValues(t, 3, runs.Load())
}

// TestOnceHangUp: the provider gives up while the handler, which watches its
// context, is at work, and delivers again.
func TestOnceHangUp(t *testing.T) {
	eachStore(t, idempotency.Options{}, func(t *testing.T, e env) {
		var runs atomic.Int64
		running, end := make(chan struct{}, 1), make(chan struct{})
		s := e.serve(t, maker{policy: webhook.Policy{Wait: 10 * time.Second}}, webhook.Options{}, webhook.Handle(func(ctx context.Context, _ webhook.Event) error {
			runs.Add(1)
			running <- struct{}{}
			select {
			case <-end:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}))
		ctx, hangUp := context.WithCancel(t.Context())
		gone := make(chan error)
		go func() {
			_, err := s.trySend(ctx, evt1, signature([]byte(evt1)))
			gone <- err
		}()
		<-running
		hangUp()
		require.ErrorIs(t, <-gone, context.Canceled)
		second := make(chan reply)
		go func() { second <- s.deliver(t, evt1) }()
		close(end)
		got := <-second
		require.Equal(t, http.StatusOK, got.status)
		require.EqualValues(t, 1, runs.Load())
		require.True(t, s.deliver(t, evt1).replayed())
	})
}

// TestOnceOverrun: a handler that hangs past its time, longer than its lease,
// never runs twice at once.
func TestOnceOverrun(t *testing.T) {
	eachStore(t, idempotency.Options{}, func(t *testing.T, e env) {
		var runs atomic.Int64
		ended, end := make(chan error, 2), make(chan struct{})
		// The lease is longer than the machine stalls: one that is lost is another story.
		s := e.serve(t, maker{}, webhook.Options{MaxRun: time.Millisecond, Lease: time.Second},
			webhook.Handle(func(ctx context.Context, _ webhook.Event) error {
				runs.Add(1)
				<-ctx.Done()
				ended <- context.Cause(ctx)
				<-end
				return nil
			}))
		finish := sync.OnceFunc(func() { close(end) })
		t.Cleanup(finish)
		first := make(chan reply, 1)
		go func() { first <- s.deliver(t, evt1) }()
		require.ErrorIs(t, <-ended, webhook.ErrOverrun)
		require.Eventually(t, func() bool { return len(s.events.of(observe.Overrun)) >= 4 }, 30*time.Second, time.Millisecond,
			"it is told once per lease: three are over")
		require.Equal(t, http.StatusConflict, s.deliver(t, evt1).status)
		finish()
		require.Equal(t, http.StatusOK, (<-first).status)
		require.EqualValues(t, 1, runs.Load())
		require.NotEmpty(t, s.events.of(observe.Overrun)[0].Key)
		require.True(t, s.deliver(t, evt1).replayed())
	})
}

func TestOnceStoreDown(t *testing.T) {
	short := idempotency.Options{Lease: 100 * time.Millisecond} // what is in doubt is undone for as long
	eachStore(t, short, func(t *testing.T, e env) {
		var runs atomic.Int64
		s := e.serve(t, maker{}, webhook.Options{}, count(&runs, always(http.StatusOK)))
		e.lose()
		got := s.deliver(t, evt1)
		require.Equal(t, http.StatusServiceUnavailable, got.status)
		require.Equal(t, "1", got.header.Get("Retry-After"))
		require.Zero(t, runs.Load())
	})
}

// TestOnceStoreLost: the store goes while the handler runs: the provider gets
// the handler's answer all the same.
func TestOnceStoreLost(t *testing.T) {
	t.Parallel()
	e := inMemory(t, idempotency.Options{CompleteFor: time.Millisecond})
	s := e.serve(t, maker{}, webhook.Options{}, webhook.Handle(func(context.Context, webhook.Event) error { e.lose(); return nil }))
	require.Equal(t, http.StatusOK, s.deliver(t, evt1).status)
}

func TestOncePanics(t *testing.T) {
	eachStore(t, idempotency.Options{}, func(t *testing.T, e env) {
		var runs atomic.Int64
		s := e.serve(t, maker{}, webhook.Options{}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			if runs.Add(1) == 1 {
				panic(http.ErrAbortHandler)
			}
		}))
		_, err := s.trySend(t.Context(), evt1, signature([]byte(evt1)))
		require.Error(t, err, "the panic reaches the server")
		require.Equal(t, http.StatusOK, s.deliver(t, evt1).status)
		require.EqualValues(t, 2, runs.Load())
	})
}

func TestOnceLargeAnswer(t *testing.T) {
	t.Parallel()
	e := inMemory(t, idempotency.Options{})
	s := e.serve(t, maker{}, webhook.Options{}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, strings.Repeat("x", 1<<20))
	}))
	for _, replayed := range []bool{false, true} {
		got := s.deliver(t, evt1)
		require.Equal(t, http.StatusAccepted, got.status)
		require.Empty(t, got.body)
		require.Equal(t, replayed, got.replayed())
	}
}

// TestOnceUnreadableRecord: what is done is answered as done, even where the
// record cannot be read any more.
func TestOnceUnreadableRecord(t *testing.T) {
	t.Parallel()
	for name, res := range map[string]idempotency.Result{
		"another codec": {Codec: "made elsewhere", Data: []byte("x")},
		"damaged":       {Codec: "http1", Data: []byte("x")},
		"no result":     {Kind: idempotency.KindTombstone},
		"an error":      {Kind: idempotency.KindError, Data: []byte("x")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := inMemory(t, idempotency.Options{})
			operator, err := e.guard.Operator()
			require.NoError(t, err)
			key, err := idempotency.Key{Scope: idempotency.Scope("webhook", "maker", "billing", ""), ID: "evt_1"}.Digest()
			require.NoError(t, err)
			done, err := operator.ForceComplete(t.Context(), key, res)
			require.NoError(t, err)
			require.True(t, done)
			s := e.serve(t, maker{policy: webhook.Policy{OK: 202, OKBody: "ok"}}, webhook.Options{}, webhook.Handle(func(context.Context, webhook.Event) error {
				return errors.New("run again")
			}))
			got := s.deliver(t, evt1)
			require.Equal(t, 202, got.status)
			require.Equal(t, "ok", got.body)
		})
	}
}

func TestOncePanicsOnMistakes(t *testing.T) {
	t.Parallel()
	e := inMemory(t, idempotency.Options{})
	for want, f := range map[string]func(){
		"webhook: Once: nil guard":           func() { webhook.Once(nil, "x", maker{}, webhook.Options{}) },
		"webhook: Once: empty endpoint":      func() { webhook.Once(e.guard, "", maker{}, webhook.Options{}) },
		"webhook: Once: nil verifier":        func() { webhook.Once(e.guard, "x", nil, webhook.Options{}) },
		"webhook: Once: MaxBody is negative": func() { webhook.Once(e.guard, "x", maker{}, webhook.Options{MaxBody: -1}) },
		"webhook: Once: MaxRun is negative":  func() { webhook.Once(e.guard, "x", maker{}, webhook.Options{MaxRun: -1}) },
		"webhook: Once: idempotency: invalid argument: Options.Retention is 1s, must be from the Lease (30s) to 87600h0m0s": func() {
			webhook.Once(e.guard, "x", maker{}, webhook.Options{Retention: time.Second})
		},
		"webhook: Once: Policy.Wait is negative\nPolicy.OK is no 2xx": func() {
			webhook.Once(e.guard, "x", maker{policy: webhook.Policy{Wait: -2, OK: 410}}, webhook.Options{})
		},
		"webhook: Handle: nil function": func() { webhook.Handle(nil) },
		"webhook: Once: maker needs a store that can bind": func() {
			guard := guardOn(t, storeOnly{}, idempotency.Options{})
			webhook.Once(guard, "x", maker{}, webhook.Options{BindBody: true})
		},
	} {
		require.PanicsWithValue(t, want, f)
	}
}

// storeOnly is a store that can do no more than a store must.
type storeOnly struct{ idempotency.Store }
