package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/lock/memlock"
	semelhttp "github.com/semel-go/semel/middleware"
	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/observe"
)

var errBoom = errors.New("secret detail")

func newSite(t *testing.T, h http.Handler) site {
	t.Helper()
	s := site{Server: httptest.NewServer(h), events: &events{}}
	t.Cleanup(s.Close)
	return s
}

// at is s at another path.
func (s site) at(path string) site {
	s.path = path
	return s
}

// writer is a ResponseWriter that remembers the status.
type writer struct {
	header http.Header
	status int
}

func newWriter() *writer                      { return &writer{header: http.Header{}} }
func (w *writer) Header() http.Header         { return w.header }
func (w *writer) WriteHeader(status int)      { w.status = status }
func (w *writer) Write(p []byte) (int, error) { return len(p), nil }

// TestHandle holds the table of Handle's comment.
func TestHandle(t *testing.T) {
	eachStore(t, idempotency.Options{}, func(t *testing.T, e env) {
		for _, tc := range []struct {
			name    string
			err     error
			status  int
			retry   string
			again   int // the status of the second delivery
			runs    int // after both
			refused int
		}{
			{"nil", nil, 202, "", 202, 1, 0},
			{"permanent", webhook.Permanent(errBoom), 202, "", 202, 1, 1},
			{"wrapped permanent", fmt.Errorf("more: %w", webhook.Permanent(errBoom)), 202, "", 202, 1, 1},
			{"final", idempotency.Final(errBoom), 202, "", 202, 1, 1},
			{"retry after", idempotency.RetryAfter(90*time.Second, errBoom), 503, "90", 409, 1, 0},
			{"unknown", idempotency.Unknown(errBoom), 503, "", 503, 1, 0},
			{"ordinary", errBoom, 500, "", 500, 2, 0},
		} {
			runs := 0
			s := e.serve(t, maker{policy: webhook.Policy{OK: 202, OKBody: "thanks"}}, webhook.Options{},
				webhook.Handle(func(context.Context, webhook.Event) error { runs++; return tc.err }))
			body := fmt.Sprintf(`{"id":%q}`, tc.name)
			first := s.deliver(t, body)
			require.Equal(t, tc.status, first.status, tc.name)
			require.NotContains(t, first.body, "secret", tc.name)
			require.Equal(t, tc.retry, first.header.Get("Retry-After"), tc.name)
			again := s.deliver(t, body)
			require.Equal(t, tc.again, again.status, tc.name)
			require.Equal(t, tc.again == 202, again.replayed(), tc.name)
			if tc.again == 202 {
				require.Equal(t, "thanks", again.body, tc.name)
			}
			require.Equal(t, tc.runs, runs, tc.name)
			require.Len(t, s.events.of(observe.Refused), tc.refused, tc.name)
		}
	})
}

// TestSteering: a plain handler says through its claim what becomes of the event.
func TestSteering(t *testing.T) {
	eachStore(t, idempotency.Options{}, func(t *testing.T, e env) {
		for _, tc := range []struct {
			name   string
			steer  func(*idempotency.Claim)
			writes int
			first  int
			again  int
			runs   int
		}{
			{"permanent", func(c *idempotency.Claim) { c.Permanent(errBoom) }, 500, 200, 200, 1},
			{"permanent and fine", func(c *idempotency.Claim) { c.Permanent(errBoom) }, 204, 204, 204, 1},
			{"keep", (*idempotency.Claim).Keep, 500, 200, 200, 1},
			{"release", (*idempotency.Claim).Release, 200, 503, 503, 2},
			{"release and failed", (*idempotency.Claim).Release, 502, 502, 502, 2},
			{"unknown", (*idempotency.Claim).Unknown, 200, 503, 503, 1},
			{"unknown and failed", (*idempotency.Claim).Unknown, 502, 502, 503, 1},
		} {
			runs := 0
			s := e.serve(t, maker{}, webhook.Options{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				runs++
				claim, ok := idempotency.ClaimFrom(r.Context())
				if ok && claim.Fence() > 0 {
					tc.steer(claim)
				}
				w.WriteHeader(tc.writes)
			}))
			body := fmt.Sprintf(`{"id":%q}`, tc.name)
			require.Equal(t, tc.first, s.deliver(t, body).status, tc.name)
			require.Equal(t, tc.again, s.deliver(t, body).status, tc.name)
			require.Equal(t, tc.runs, runs, tc.name)
		}
	})
}

// TestSwallowedErrors: middleware between Once and Handle makes a 200 of every
// answer. What is not recorded is not answered as done.
func TestSwallowedErrors(t *testing.T) {
	t.Parallel()
	e := inMemory(t, idempotency.Options{})
	for id, err := range map[string]error{"ordinary": errBoom, "unknown": idempotency.Unknown(errBoom), "later": idempotency.RetryAfter(time.Hour, errBoom)} {
		h := webhook.Handle(func(context.Context, webhook.Event) error { return err })
		s := e.serve(t, maker{}, webhook.Options{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h.ServeHTTP(newWriter(), r)
			w.WriteHeader(http.StatusOK)
		}))
		got := s.deliver(t, fmt.Sprintf(`{"id":%q}`, id))
		require.Equal(t, http.StatusServiceUnavailable, got.status, id)
		require.Equal(t, "5", got.header.Get("Retry-After"), id)
	}
}

// TestRetryAfterForEver: what does not fit into a duration's arithmetic is long,
// not short.
func TestRetryAfterForEver(t *testing.T) {
	t.Parallel()
	s := inMemory(t, idempotency.Options{}).serve(t, maker{}, webhook.Options{},
		webhook.Handle(func(context.Context, webhook.Event) error { return idempotency.RetryAfter(math.MaxInt64, errBoom) }))
	got := s.deliver(t, evt1)
	require.Equal(t, http.StatusServiceUnavailable, got.status)
	require.Equal(t, "9223372037", got.header.Get("Retry-After"))
}

func TestHandleAlone(t *testing.T) {
	t.Parallel()
	s := newSite(t, webhook.Handle(func(context.Context, webhook.Event) error { t.Error("it ran unverified"); return nil }))
	require.Equal(t, http.StatusInternalServerError, s.deliver(t, evt1).status)
}

func TestHandlePassthrough(t *testing.T) {
	t.Parallel()
	s := inMemory(t, idempotency.Options{}).serve(t, maker{}, webhook.Options{},
		webhook.Handle(func(context.Context, webhook.Event) error { return errBoom }))
	require.Equal(t, http.StatusOK, s.send(t, "x", "challenge").status)
}

// TestReply: what was passed through is answered with the verifier's reply, by
// Handle alone.
func TestReply(t *testing.T) {
	t.Parallel()
	e := inMemory(t, idempotency.Options{})
	asks := verify(func() webhook.Delivery { return webhook.Delivery{Passthrough: true, Reply: "<3eZbr>"} })
	got := newSite(t, webhook.Once(e.guard, "x", asks, webhook.Options{})(webhook.Handle(nothing))).deliver(t, evt1)
	require.Equal(t, http.StatusOK, got.status)
	require.Equal(t, "<3eZbr>", got.body)
	require.Equal(t, "text/plain; charset=utf-8", got.header.Get("Content-Type"))

	own := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "mine") })
	require.Equal(t, "mine", newSite(t, webhook.Once(e.guard, "x", asks, webhook.Options{})(own)).deliver(t, evt1).body)
	require.Zero(t, e.keys(t))
}

// TestContentType: the handler's request says what its body is, and the outer
// one stays as it came.
func TestContentType(t *testing.T) {
	t.Parallel()
	e := inMemory(t, idempotency.Options{})
	for kind, want := range map[string]string{"": "text/x-form", "application/json": "application/json"} {
		wrapped := verify(func() webhook.Delivery {
			return webhook.Delivery{Events: []webhook.Event{{ID: "1", Body: []byte("{}"), ContentType: kind}}}
		})
		h := webhook.Once(e.guard, "type "+kind, wrapped, webhook.Options{})(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			_, _ = fmt.Fprintf(w, "%s %s", r.Header.Get("Content-Type"), body)
		}))
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("payload=%7B%7D"))
		r.Header.Set("Content-Type", "text/x-form")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		require.Equal(t, want+" {}", w.Body.String())
		require.Equal(t, "text/x-form", r.Header.Get("Content-Type"))
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	got := make(chan any, 2)
	s := inMemory(t, idempotency.Options{}).serve(t, maker{}, webhook.Options{}, webhook.Handle(func(ctx context.Context, _ webhook.Event) error {
		v, err := webhook.Decode[struct{ Resource string }](ctx)
		_, wrong := webhook.Decode[struct{ Resource int }](ctx)
		got <- v.Resource
		got <- wrong
		return err
	}))
	require.Equal(t, http.StatusOK, s.deliver(t, evt1).status)
	require.Equal(t, "in_1", <-got)
	require.Error(t, (<-got).(error))
	_, err := webhook.Decode[any](t.Context())
	require.Error(t, err)
}

// TestBatches uses a provider that sends several events at once.
func TestBatches(t *testing.T) {
	eachStore(t, idempotency.Options{}, func(t *testing.T, e env) {
		var mu sync.Mutex
		runs := map[string]int{}
		fail := map[string]bool{"fails": true}
		running, end := make(chan struct{}), make(chan struct{})
		s := e.serve(t, maker{}, webhook.Options{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ev, _ := webhook.EventFrom(r.Context())
			body, _ := io.ReadAll(r.Body)
			mu.Lock()
			runs[ev.ID]++
			failing := fail[ev.ID]
			mu.Unlock()
			if string(body) != string(ev.Body) || string(body) != fmt.Sprintf(`{"id":%q}`, ev.ID) {
				w.WriteHeader(http.StatusTeapot)
				return
			}
			if ev.ID == "slow" {
				close(running)
				<-end
			}
			if failing {
				w.WriteHeader(http.StatusBadGateway)
			}
		}))
		ranOnce := func(ids ...string) {
			t.Helper()
			mu.Lock()
			defer mu.Unlock()
			for _, id := range ids {
				require.Equal(t, 1, runs[id], id)
			}
		}
		require.Equal(t, 200, s.deliver(t, `{"id":"done"}`).status)
		slow := make(chan reply)
		go func() { slow <- s.deliver(t, `{"id":"slow"}`) }()
		<-running
		batch := `[{"id":"new"},{"id":"done"},{"id":"slow"},{"id":"last"}]`
		got := s.deliver(t, batch)
		require.Equal(t, http.StatusConflict, got.status, "one is in flight elsewhere")
		require.NotEmpty(t, got.header.Get("Retry-After"))
		ranOnce("new", "done", "slow", "last")
		close(end)
		require.Equal(t, 200, (<-slow).status)
		require.Equal(t, 200, s.deliver(t, batch).status)
		ranOnce("new", "done", "slow", "last")

		require.Equal(t, http.StatusBadGateway, s.deliver(t, `[{"id":"fails"},{"id":"after"}]`).status)
		ranOnce("after")
		mu.Lock()
		fail["fails"] = false
		mu.Unlock()
		require.Equal(t, 200, s.deliver(t, `[{"id":"after"},{"id":"fails"},{"id":"after"}]`).status)
		ranOnce("after")
	})
}

// TestBatchesWait: a batch waits as long as one delivery does, not for as long
// per event.
func TestBatchesWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := inMemory(t, idempotency.Options{})
		end := make(chan struct{})
		var held sync.WaitGroup
		h := webhook.Once(e.guard, "x", maker{}, webhook.Options{Wait: time.Minute})(
			http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-end }))
		deliver := func(body string) int {
			w := newWriter()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
			r.Header.Set("Maker-Signature", signature([]byte(body)))
			h.ServeHTTP(w, r)
			return w.status
		}
		for _, id := range []string{"a", "b", "c"} {
			held.Go(func() { deliver(fmt.Sprintf(`{"id":%q}`, id)) })
		}
		synctest.Wait()
		began := time.Now()
		require.Equal(t, http.StatusConflict, deliver(`[{"id":"a"},{"id":"b"},{"id":"c"}]`))
		require.Equal(t, time.Minute, time.Since(began))
		close(end)
		held.Wait()
	})
}

// TestBatchesCross: two batches with the same events in other orders, at once.
func TestBatchesCross(t *testing.T) {
	eachStore(t, idempotency.Options{}, func(t *testing.T, e env) {
		var mu sync.Mutex
		runs := map[string]int{}
		s := e.serve(t, maker{}, webhook.Options{}, webhook.Handle(func(_ context.Context, ev webhook.Event) error {
			mu.Lock()
			defer mu.Unlock()
			runs[ev.ID]++
			return nil
		}))
		var all sync.WaitGroup
		for i := range 20 {
			ids := []string{fmt.Sprint(i, "a"), fmt.Sprint(i, "b")}
			for range 2 {
				body := fmt.Sprintf(`[{"id":%q},{"id":%q}]`, ids[0], ids[1])
				slices.Reverse(ids)
				all.Go(func() {
					for range 100 {
						if s.deliver(t, body).status == http.StatusOK {
							return
						}
					}
					t.Error("refused for ever")
				})
			}
		}
		all.Wait()
		require.Len(t, runs, 40)
		for id, n := range runs {
			require.Equal(t, 1, n, id)
		}
	})
}

// TestByResource: events of one resource are handled one at a time, and one that
// does not get its turn is released.
func TestByResource(t *testing.T) {
	t.Parallel()
	e := inMemory(t, idempotency.Options{})
	backend, err := memlock.New(memlock.Options{})
	require.NoError(t, err)
	locker, err := lock.New(backend, lock.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, locker.Close(context.Background())) })
	running, end := make(chan struct{}), make(chan struct{})
	serialize := semelhttp.Serialize(locker, webhook.ByResource, semelhttp.SerializeOptions{})
	s := e.serve(t, maker{}, webhook.Options{}, serialize(webhook.Handle(func(_ context.Context, ev webhook.Event) error {
		if ev.ID == "1" {
			close(running)
			<-end
		}
		return nil
	})))
	first := make(chan reply)
	go func() { first <- s.deliver(t, `{"id":"1","resource":"in_1"}`) }()
	<-running
	busy := s.deliver(t, `{"id":"2","resource":"in_1"}`)
	require.Equal(t, http.StatusConflict, busy.status)
	require.Equal(t, 200, s.deliver(t, `{"id":"3","resource":"in_2"}`).status)
	require.Equal(t, 200, s.deliver(t, `{"id":"4"}`).status)
	close(end)
	require.Equal(t, 200, (<-first).status)
	require.Equal(t, 200, s.deliver(t, `{"id":"2","resource":"in_1"}`).status)
	_, err = webhook.ByResource((&http.Request{}).WithContext(t.Context()))
	require.Error(t, err)
}
