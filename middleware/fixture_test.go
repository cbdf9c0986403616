package middleware_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/memstore"
	"github.com/semel-go/semel/idempotency/redisstore"
	"github.com/semel-go/semel/internal/redistest"
	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/lock/memlock"
	"github.com/semel-go/semel/lock/redislock"
	semelhttp "github.com/semel-go/semel/middleware"
	"github.com/semel-go/semel/observe"
)

// env is what a test needs of a store, whichever it is. It is empty at first.
type env struct {
	store   idempotency.Store
	backend lock.Backend
}

// eachStore runs a test on memory and on a Redis server.
func eachStore(t *testing.T, test func(t *testing.T, env env)) {
	t.Helper()
	t.Parallel()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, inMemory(t))
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		rdb := redis.NewClient(&redis.Options{Addr: redistest.Start(t).Addr()})
		t.Cleanup(func() { _ = rdb.Close() })
		store, err := redisstore.New(rdb, redisstore.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, store.Close()) })
		backend, err := redislock.New(rdb, redislock.Options{})
		require.NoError(t, err)
		test(t, env{store: store, backend: backend})
	})
}

// inMemory is the env of a test that any store will do for.
func inMemory(tb testing.TB) env {
	tb.Helper()
	store, err := memstore.New(memstore.Options{})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, store.Close()) })
	backend, err := memlock.New(memlock.Options{})
	require.NoError(tb, err)
	return env{store: store, backend: backend}
}

// guard returns a Guard that ends with the test.
func (e env) guard(tb testing.TB, o idempotency.Options) *idempotency.Guard {
	tb.Helper()
	guard, err := idempotency.New(e.store, o)
	require.NoError(tb, err)
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(tb, guard.Close(ctx))
	})
	return guard
}

// locker returns a Locker that ends with the test.
func (e env) locker(tb testing.TB, o lock.Options) *lock.Locker {
	tb.Helper()
	locker, err := lock.New(e.backend, o)
	require.NoError(tb, err)
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(tb, locker.Close(ctx))
	})
	return locker
}

// protect returns the server of a handler behind Idempotency on a guard of its
// own, whose callers share their keys.
func (e env) protect(t *testing.T, handler http.HandlerFunc, o semelhttp.IdempotencyOptions) *server {
	t.Helper()
	guard := e.guard(t, idempotency.Options{})
	return serve(t, semelhttp.Idempotency(guard, semelhttp.SharedScope(), o)(handler))
}

// server is a real one, on a real listener.
type server struct {
	*httptest.Server
	t *testing.T
}

// serve returns the server of a handler. It ends with the test, before the
// guards and stores that were made earlier.
func serve(t *testing.T, handler http.Handler) *server {
	t.Helper()
	s := &server{httptest.NewServer(handler), t}
	t.Cleanup(s.Close)
	return s
}

// fresh makes the client use a new connection for each request. On one that was
// used before, it sends a request with a key again by itself if the server
// hangs up.
func (s *server) fresh() *server {
	s.Client().Transport.(*http.Transport).DisableKeepAlives = true
	return s
}

// answer is one that has been read to its end.
type answer struct {
	status int
	header http.Header
	body   string
}

// replayed reports whether the answer says that it is a replay.
func (a answer) replayed() bool { return a.header.Get("Idempotent-Replayed") == "true" }

// problem returns the problem that the answer must be.
func (a answer) problem(t *testing.T) semelhttp.Problem {
	t.Helper()
	require.Equal(t, "application/problem+json", a.header.Get("Content-Type"), a.body)
	require.Equal(t, "no-store", a.header.Get("Cache-Control"))
	var p semelhttp.Problem
	d := json.NewDecoder(strings.NewReader(a.body))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&p), a.body)
	require.Equal(t, a.status, p.Status)
	require.Equal(t, "urn:semel:problem:"+string(p.Code), p.Type)
	require.NotEmpty(t, p.Title)
	require.NotEmpty(t, p.Detail)
	require.False(t, a.replayed())
	return p
}

// code returns the code of the problem that the answer must be.
func (a answer) code(t *testing.T) semelhttp.Code {
	t.Helper()
	return a.problem(t).Code
}

// post sends a POST with a key; "" sends none. header are names and values.
func (s *server) post(path, key, body string, header ...string) answer {
	s.t.Helper()
	r := s.request(http.MethodPost, path, key, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return s.do(r)
}

// request returns a request to the server.
func (s *server) request(method, path, key string, body io.Reader) *http.Request {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+path, body)
	require.NoError(s.t, err)
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	return r
}

// do sends a request and reads its answer.
func (s *server) do(r *http.Request) answer {
	s.t.Helper()
	a, err := s.try(r)
	require.NoError(s.t, err)
	return a
}

// try is do for what may fail, and for any goroutine.
func (s *server) try(r *http.Request) (answer, error) {
	res, err := s.Client().Do(r)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, string(body)}, err
}

// raw sends bytes on a connection of their own and reads one answer.
func (s *server) raw(send string) answer {
	s.t.Helper()
	conn, err := (&net.Dialer{}).DialContext(s.t.Context(), "tcp", s.Listener.Addr().String())
	require.NoError(s.t, err)
	defer func() { _ = conn.Close() }()
	_, err = io.WriteString(conn, send)
	require.NoError(s.t, err)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(s.t, err)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	return answer{res.StatusCode, res.Header, string(body)}
}

// counter counts calls of a handler.
type counter struct {
	mu sync.Mutex
	n  int
}

// next counts one more and returns how many there were.
func (c *counter) next() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	return c.n
}

// total returns how many there were.
func (c *counter) total() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// faulty is a store that a test can get between. A hook that returns an error
// is the store's answer; else the request goes on.
type faulty struct {
	idempotency.Store
	onBegin, onComplete, onRenew hook
}

// hook is a function that can be set while it is called.
type hook struct {
	f atomic.Pointer[func(context.Context) error]
}

func (h *hook) set(f func(context.Context) error) { h.f.Store(&f) }

func (h *hook) clear() { h.f.Store(nil) }

func (h *hook) call(ctx context.Context) error {
	if f := h.f.Load(); f != nil {
		return (*f)(ctx)
	}
	return nil
}

func (f *faulty) Begin(ctx context.Context, r idempotency.BeginRequest) (idempotency.Begun, error) {
	if err := f.onBegin.call(ctx); err != nil {
		return idempotency.Begun{}, err
	}
	return f.Store.Begin(ctx, r)
}

func (f *faulty) Complete(ctx context.Context, r idempotency.CompleteRequest) (bool, error) {
	if err := f.onComplete.call(ctx); err != nil {
		return false, err
	}
	return f.Store.Complete(ctx, r)
}

func (f *faulty) Renew(ctx context.Context, r idempotency.RenewRequest) error {
	if err := f.onRenew.call(ctx); err != nil {
		return err
	}
	return f.Store.Renew(ctx, r)
}

// errBroken is an error whose text nobody may be told.
var errBroken = errors.New("broken: a secret")

// broken is a hook.
func broken(context.Context) error { return errBroken }

// witness is an observer that keeps what it is told.
type witness struct {
	mu   sync.Mutex
	seen []observe.Event
}

func (w *witness) Observe(_ context.Context, e observe.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, e)
}

// count returns how many events of a kind it was told.
func (w *witness) count(kind observe.Kind) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.seen {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// last returns the last event of a kind that it was told.
func (w *witness) last(kind observe.Kind) (last observe.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.seen {
		if e.Kind == kind {
			last = e
		}
	}
	return last
}

// forget forgets all that it was told.
func (w *witness) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = nil
}
