package response_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/response"
)

// TestLate leaves goroutines behind that go on with everything a handler can do,
// header map included, while the server and a client are at work. It is the race
// detector that judges.
func TestLate(t *testing.T) {
	t.Parallel()
	// The map comes first: a call that waits for the recorder would put what
	// follows in order.
	touch := func(w http.ResponseWriter, h http.Header) error {
		h.Set("X-Late", "1")
		h[http.TrailerPrefix+"X-Late"] = []string{"1"}
		h["X-Own"][0] = "late"
		_, err := w.Write(nil)
		return err
	}
	for name, tc := range map[string]struct {
		before func(http.ResponseWriter)
		after  func(http.ResponseWriter, http.Header) error
	}{
		"header map": {
			before: func(w http.ResponseWriter) { w.WriteHeader(http.StatusCreated) },
			after:  touch,
		},
		"header map, asked for again": {
			before: func(w http.ResponseWriter) { say(w, "body"); w.Header() },
			after: func(w http.ResponseWriter, h http.Header) error {
				w.Header().Set("X-Late", "2")
				return touch(w, h)
			},
		},
		"header map, flushed": {
			before: func(w http.ResponseWriter) { say(w, "body"); w.(http.Flusher).Flush() },
			after:  touch,
		},
		"writes and flushes": {
			before: func(w http.ResponseWriter) { say(w, "body") },
			after: func(w http.ResponseWriter, _ http.Header) error {
				w.WriteHeader(http.StatusTeapot)
				w.(http.Flusher).Flush()
				_, err := w.(io.ReaderFrom).ReadFrom(strings.NewReader("late"))
				return err
			},
		},
	} {
		for _, hold := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				var late sync.WaitGroup
				tp := newTape(func(w http.ResponseWriter, _ *http.Request) {
					h := w.Header()
					h["X-Own"] = []string{"own"}
					returned := make(chan struct{})
					defer close(returned)
					tc.before(w)
					late.Go(func() {
						<-returned
						for tc.after(w, h) == nil {
							runtime.Gosched()
						}
						for range 100 { // and after it was told
							h.Set("X-Late", "1")
							_ = tc.after(w, h)
						}
					})
				})
				tp.options.HoldBack = hold
				addr := serve(t, tp)
				for range 20 {
					got := ask(t, addr, "POST", "/", "")
					require.NotEqual(t, http.StatusTeapot, got.status)
					require.Equal(t, "own", got.header.Get("X-Own"))
					tp.recorded()
				}
				late.Wait()
			})
		}
	}
}

// TestFinished shows what a goroutine that was left behind is told.
func TestFinished(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*response.Recorder){
		"finished":  func(rec *response.Recorder) { rec.Finish() },
		"abandoned": func(rec *response.Recorder) { rec.Abandon() },
	} {
		for _, hold := range []bool{false, true} {
			w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
			rec := response.NewRecorder(w, r, response.Options{HoldBack: hold})
			say(rec, "x")
			end(rec)
			sent := w.Body.String()

			_, wrote := rec.Write([]byte("y"))
			_, wroteString := rec.WriteString("y")
			_, read := rec.ReadFrom(strings.NewReader("y"))
			_, _, hijacked := rec.Hijack()
			for _, err := range []error{wrote, wroteString, read, hijacked, rec.FlushError(), rec.Push("/", nil)} {
				require.Equal(t, response.ErrFinished, err, name)
			}
			rec.WriteHeader(http.StatusTeapot)
			rec.Header().Set("X-Late", "1")
			require.Equal(t, sent, w.Body.String(), name)
			require.NotContains(t, w.Header(), "X-Late", name)
			require.False(t, rec.Finish().Whole, "there is one end")
		}
	}
}

// TestTimeoutHandler shows that one outside ends the sending alone: the handler
// works on and its answer is kept.
func TestTimeoutHandler(t *testing.T) {
	t.Parallel()
	timedOut := make(chan struct{})
	tp := newTape(func(w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		<-timedOut
		w.WriteHeader(http.StatusCreated)
		if _, err := io.WriteString(w, "done"); err != nil {
			panic(err)
		}
	})
	addr := serve(t, http.TimeoutHandler(tp, 1, "timeout"))
	require.Equal(t, http.StatusServiceUnavailable, ask(t, addr, "POST", "/", "").status)
	close(timedOut)
	recorded := tp.recorded()
	require.True(t, recorded.Whole)
	require.Equal(t, http.StatusCreated, recorded.Status)
	require.Equal(t, "done", string(recorded.Body))
}

// TestAbandon shows that nothing is sent or kept of a handler that panics while
// its answer is held back, and that the panic comes out.
func TestAbandon(t *testing.T) {
	t.Parallel()
	tp := newTape(func(w http.ResponseWriter, _ *http.Request) {
		say(w, "half")
		panic(http.ErrAbortHandler)
	})
	tp.options.HoldBack = true
	require.Empty(t, raw(t, serve(t, tp), "POST", "/", ""))
	require.Zero(t, tp.recorded())

	w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
	rec := response.NewRecorder(w, r, response.Options{HoldBack: true})
	require.Error(t, rec.Send(), "not before its end")
	rec.Abandon()
	require.NoError(t, rec.Send())
	require.False(t, w.Flushed)
	require.Empty(t, w.Body.String())
}
