package middleware_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	semelhttp "github.com/semel-go/semel/middleware"
)

func TestPanicGoesOnAndReleases(t *testing.T) {
	eachStore(t, func(t *testing.T, env env) {
		var calls counter
		ends := map[string]func(){
			"abort":  func() { panic(http.ErrAbortHandler) },
			"panic":  func() { panic(errBroken) },
			"goexit": func() { runtime.Goexit() },
		}
		guard := env.guard(t, idempotency.Options{})
		protected := semelhttp.Idempotency(guard, semelhttp.SharedScope(), semelhttp.IdempotencyOptions{})(
			http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if calls.next()%2 == 1 {
					_, _ = io.WriteString(w, "half an answer")
					ends[r.Header.Get("End")]()
				}
				_, _ = io.WriteString(w, "whole")
			}))
		seen := make(chan any, 1)
		s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer func() {
				v := recover()
				seen <- v
				if v != nil || r.Header.Get("End") == "goexit" {
					panic(http.ErrAbortHandler)
				}
			}()
			protected.ServeHTTP(w, r)
		})).fresh()
		for end, want := range map[string]any{"abort": http.ErrAbortHandler, "panic": errBroken} {
			r := s.request(http.MethodPost, "/", end, nil)
			r.Header.Set("End", end)
			_, err := s.try(r)
			require.Error(t, err, "the connection is cut")
			require.Equal(t, want, <-seen, "as it was")
			a := s.post("/", end, "", "End", end)
			require.Nil(t, <-seen)
			require.Equal(t, "whole", a.body)
			require.False(t, a.replayed())
		}

		// Goexit, which a server would not survive.
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			r := s.request(http.MethodPost, "/", "goexit", nil)
			r.RequestURI = "/"
			r.Header.Set("End", "goexit")
			protected.ServeHTTP(discard{}, r)
			panic("Goexit was stopped")
		}()
		<-gone
		require.Equal(t, "whole", s.post("/", "goexit", "").body)
		require.Nil(t, <-seen)
	})
}

// discard is a writer for answers that nobody reads.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}

// What a handler has left running cannot write any more when it has ended, by a
// panic or by return.
func TestLateWriterIsRefused(t *testing.T) {
	t.Parallel()
	guard := inMemory(t).guard(t, idempotency.Options{})
	for _, value := range []any{errBroken, nil} {
		var kept http.ResponseWriter
		h := semelhttp.Idempotency(guard, semelhttp.SharedScope(), semelhttp.IdempotencyOptions{})(
			http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				kept = w
				if value != nil {
					panic(value)
				}
			}))
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header.Set("Idempotency-Key", "k")
		func() {
			defer func() { require.Equal(t, value, recover()) }()
			h.ServeHTTP(httptest.NewRecorder(), r)
		}()
		_, err := io.WriteString(kept, "late")
		require.Error(t, err)
	}
}

func TestPanicAfterKeepIsNotRepeated(t *testing.T) {
	t.Parallel()
	s := inMemory(t).protect(t, func(_ http.ResponseWriter, r *http.Request) {
		claim, _ := idempotency.ClaimFrom(r.Context())
		claim.Keep()
		panic(http.ErrAbortHandler)
	}, semelhttp.IdempotencyOptions{}).fresh()
	_, err := s.try(s.request(http.MethodPost, "/", "k", nil))
	require.Error(t, err)
	p := s.post("/", "k", "").problem(t)
	require.Equal(t, semelhttp.CodeResultNotRetained, p.Code)
	require.Zero(t, p.OriginalStatus, "there was none")
	require.WithinDuration(t, time.Now(), p.CompletedAt, time.Minute)
}
