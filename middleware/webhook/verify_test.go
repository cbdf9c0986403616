package webhook_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/observe"
)

func TestUnverifiedLeavesNothing(t *testing.T) {
	eachStore(t, idempotency.Options{}, func(t *testing.T, e env) {
		var runs atomic.Int64
		s := e.serve(t, maker{}, webhook.Options{BindBody: true}, count(&runs, always(http.StatusOK)))
		for sig, want := range map[string]int{"": 401, "wrong": 401, "down": 503, "nothing": 400} {
			got := s.send(t, evt1, sig)
			require.Equal(t, want, got.status, sig)
			if want == 401 {
				require.Equal(t, "webhook refused\n", got.body)
				require.Equal(t, "text/plain; charset=utf-8", got.header.Get("Content-Type"))
			}
			if want == 503 {
				require.Equal(t, "1", got.header.Get("Retry-After"))
			}
		}
		require.Equal(t, 400, s.deliver(t, `{"id":""}`).status, "an empty id is no key")
		require.Equal(t, 400, s.deliver(t, `[{"id":"1"},{"id":""}]`).status)
		require.Equal(t, 400, s.deliver(t, `[]`).status)
		require.Zero(t, e.keys(t))
		require.Zero(t, runs.Load())
		require.Len(t, s.events.of(observe.DeliveryRefused), 7)
		require.Equal(t, http.StatusOK, s.deliver(t, evt1).status)
		require.EqualValues(t, 1, runs.Load())
	})
}

func TestPassthrough(t *testing.T) {
	t.Parallel()
	e := inMemory(t, idempotency.Options{})
	s := e.serve(t, maker{}, webhook.Options{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, ok := webhook.EventFrom(r.Context())
		_, claimed := idempotency.ClaimFrom(r.Context())
		body, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprint(w, ok, claimed, string(body))
	}))
	for range 2 {
		require.Equal(t, "false falsehello", s.send(t, "hello", "challenge").body)
	}
	require.Zero(t, e.keys(t))
	require.Len(t, s.events.of(observe.PassedThrough), 2)
}

func TestBodyTooLarge(t *testing.T) {
	t.Parallel()
	e := inMemory(t, idempotency.Options{})
	s := e.serve(t, maker{policy: webhook.Policy{MaxBody: 1000}}, webhook.Options{}, webhook.Handle(nothing))
	fits := `{"id":"1","note":"` + strings.Repeat("x", 980) + `"}`
	require.Len(t, fits, 1000)
	require.Equal(t, http.StatusOK, s.deliver(t, fits).status)
	require.Equal(t, http.StatusRequestEntityTooLarge, s.deliver(t, fits+" ").status)
	refused := s.events.of(observe.DeliveryRefused)
	require.Len(t, refused, 1)
	require.ErrorIs(t, refused[0].Err, webhook.ErrRefused)
	require.ErrorContains(t, refused[0].Err, "too_large")

	post := func(body io.Reader) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, body)
		require.NoError(t, err)
		req.Header.Set("Maker-Signature", signature([]byte(fits)))
		res, err := s.Client().Do(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		return res.StatusCode
	}
	stream := func(s string) io.Reader { return io.MultiReader(strings.NewReader(s)) }
	require.Equal(t, http.StatusOK, post(stream(fits)), "of unknown length")
	require.Equal(t, http.StatusRequestEntityTooLarge, post(stream(fits+" ")))

	open := inMemory(t, idempotency.Options{}).serve(t, maker{}, webhook.Options{MaxBody: math.MaxInt64}, webhook.Handle(nothing))
	require.Equal(t, http.StatusOK, open.deliver(t, fits).status, "a limit that is none")
}

// endless is a body of a gigabyte.
type endless struct{ left int }

func (e *endless) Read(p []byte) (int, error) {
	n := min(len(p), e.left)
	if e.left -= n; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (e *endless) Close() error { return nil }

func TestBodyStream(t *testing.T) { // not parallel: it measures memory
	e := inMemory(t, idempotency.Options{})
	h := webhook.Once(e.guard, "x", maker{}, webhook.Options{})(webhook.Handle(nothing))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	w := newWriter()
	body := &endless{1 << 30}
	h.ServeHTTP(w, (&http.Request{Method: http.MethodPost, Header: http.Header{}, Body: body, ContentLength: -1}).WithContext(t.Context()))
	runtime.ReadMemStats(&after)
	require.Equal(t, http.StatusRequestEntityTooLarge, w.status)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20))
	require.Greater(t, body.left, 1<<29, "most of it is not read")

	w = newWriter() // a length that is a lie costs nothing before the bytes come
	runtime.ReadMemStats(&before)
	h.ServeHTTP(w, (&http.Request{Method: http.MethodPost, Header: http.Header{}, Body: &endless{10}, ContentLength: 1 << 20}).WithContext(t.Context()))
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(512<<10))
}

func zipped(t *testing.T, s string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := io.WriteString(z, s)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.String()
}

func TestBodyEncoded(t *testing.T) {
	t.Parallel()
	e := inMemory(t, idempotency.Options{})
	var runs atomic.Int64
	h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if string(body) == evt1 && r.Header.Get("Content-Encoding") == "" {
			runs.Add(1)
		}
	})
	post := func(s site, body, encoding string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Maker-Signature", signature([]byte(evt1)))
		req.Header.Set("Content-Encoding", encoding)
		res, err := s.Client().Do(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		return res.StatusCode
	}
	strict := e.serve(t, maker{}, webhook.Options{}, h)
	require.Equal(t, http.StatusUnsupportedMediaType, post(strict, zipped(t, evt1), "gzip"))
	require.ErrorContains(t, strict.events.of(observe.DeliveryRefused)[0].Err, "malformed")
	require.Equal(t, http.StatusOK, post(strict, evt1, "identity"))
	open := inMemory(t, idempotency.Options{}).serve(t, maker{}, webhook.Options{Decompress: true, MaxBody: 1 << 20}, h)
	require.Equal(t, http.StatusOK, post(open, zipped(t, evt1), "gzip"))
	require.EqualValues(t, 2, runs.Load())
	require.Equal(t, http.StatusUnsupportedMediaType, post(open, evt1, "br"))
	require.Equal(t, http.StatusUnsupportedMediaType, post(open, evt1, "gzip, gzip"))
	require.Equal(t, http.StatusBadRequest, post(open, evt1, "gzip"), "not what it says")
	bomb := zipped(t, strings.Repeat(" ", 100<<20))
	require.Less(t, len(bomb), 1<<20)
	require.Equal(t, http.StatusRequestEntityTooLarge, post(open, bomb, "gzip"))

	require.Equal(t, http.StatusUnauthorized, post(open, zipped(t, evt1+" "), "gzip"))
	refused := open.events.of(observe.DeliveryRefused)
	require.NotContains(t, refused[len(refused)-1].Err.Error(), "middleware", "it is not as long as it came, but nobody has changed it")
}

// TestRewrittenBody: middleware before Once that decodes and encodes the body
// makes every signature wrong; the observer is told so.
func TestRewrittenBody(t *testing.T) {
	t.Parallel()
	e := inMemory(t, idempotency.Options{})
	told := &events{}
	once := webhook.Once(e.guard, "x", maker{}, webhook.Options{Observer: told})(webhook.Handle(nothing))
	s := newSite(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var v any
		_ = json.NewDecoder(r.Body).Decode(&v)
		again, _ := json.MarshalIndent(v, "", "  ")
		r.Body = io.NopCloser(bytes.NewReader(again))
		once.ServeHTTP(w, r)
	}))
	require.Equal(t, http.StatusUnauthorized, s.deliver(t, evt1).status)
	refused := told.of(observe.DeliveryRefused)
	require.Len(t, refused, 1)
	require.ErrorIs(t, refused[0].Err, webhook.ErrRefused)
	require.ErrorContains(t, refused[0].Err, "no_match")
	require.ErrorContains(t, refused[0].Err, "middleware before Once has changed it")
}

func nothing(context.Context, webhook.Event) error { return nil }

func TestBindings(t *testing.T) {
	eachStore(t, idempotency.Options{}, func(t *testing.T, e env) {
		bound := webhook.Binding{ID: "transmission", Digest: [32]byte{1}, For: time.Minute}
		m := maker{bindings: []webhook.Binding{bound}, policy: webhook.Policy{Binds: true}}
		require.Equal(t, 200, e.serve(t, m, webhook.Options{}, webhook.Handle(nothing)).deliver(t, evt1).status)
		bound.Digest = [32]byte{2}
		m.bindings = []webhook.Binding{bound}
		s := e.serve(t, m, webhook.Options{}, webhook.Handle(nothing))
		got := s.deliver(t, `{"id":"evt_2"}`)
		require.Equal(t, 401, got.status)
		require.Equal(t, "webhook refused\n", got.body)
		require.ErrorContains(t, s.events.of(observe.DeliveryRefused)[0].Err, "forged")
		require.Equal(t, 401, s.deliver(t, evt1).status, "nor does it get the answer of a record")
	})
}

// TestBindBody: a captured body does not run again under another id.
func TestBindBody(t *testing.T) {
	t.Parallel()
	e := inMemory(t, idempotency.Options{})
	var runs atomic.Int64
	idOf := idInHeader{maker{}}
	s := newSite(t, webhook.Once(e.guard, "x", idOf, webhook.Options{BindBody: true})(count(&runs, always(200))))
	send := func(id string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader(evt1))
		require.NoError(t, err)
		req.Header.Set("Maker-Signature", signature([]byte(evt1)))
		req.Header.Set("Maker-Id", id)
		res, err := s.Client().Do(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		return res.StatusCode
	}
	require.Equal(t, 200, send("a"))
	require.Equal(t, 200, send("a"))
	require.Equal(t, 401, send("b"))
	require.EqualValues(t, 1, runs.Load())
}

// idInHeader is a provider that does not sign its ids.
type idInHeader struct{ maker }

func (i idInHeader) Verify(ctx context.Context, h http.Header, body []byte) (webhook.Delivery, error) {
	d, err := i.maker.Verify(ctx, h, body)
	for j := range d.Events {
		d.Events[j].ID = h.Get("Maker-Id")
	}
	return d, err
}
