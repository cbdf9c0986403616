package middleware_test

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/semel-go/semel/idempotency"
	semelhttp "github.com/semel-go/semel/middleware"
)

// sink is a writer that costs nothing but its header.
type sink struct{ header http.Header }

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) Write(p []byte) (int, error) { return len(p), nil }
func (s *sink) WriteHeader(int)             {}

// BenchmarkIdempotency shows what the middleware adds to a handler that reads
// and writes 1 KiB of JSON, without a server's own cost.
func BenchmarkIdempotency(b *testing.B) {
	body := []byte(`{"text":"` + strings.Repeat("x", 1024-11) + `"}`)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	})
	guard := func() *idempotency.Guard { return inMemory(b).guard(b, idempotency.Options{}) }
	protect := func(o semelhttp.IdempotencyOptions) http.Handler {
		return semelhttp.Idempotency(guard(), semelhttp.SharedScope(), o)(handler)
	}
	n := 0 // over all rounds: a key that is met again is a replay
	for _, c := range []struct {
		name    string
		handler http.Handler
		fresh   bool // each request has a key of its own
	}{
		{"bare", handler, true},
		{"first", protect(semelhttp.IdempotencyOptions{}), true},
		{"commit first", protect(semelhttp.IdempotencyOptions{CommitFirst: true}), true},
		{"replay", protect(semelhttp.IdempotencyOptions{}), false},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			key := []string{"key"}
			r := &http.Request{
				Method: http.MethodPost, RequestURI: "/payments", URL: &url.URL{Path: "/payments"},
				Header:        http.Header{"Idempotency-Key": key, "Content-Type": {"application/json"}},
				ContentLength: int64(len(body)),
			}
			for b.Loop() {
				if n++; c.fresh {
					key[0] = "key-" + strconv.Itoa(n)
				}
				again := r.WithContext(b.Context())
				again.Body = io.NopCloser(bytes.NewReader(body))
				c.handler.ServeHTTP(&sink{make(http.Header)}, again)
			}
		})
	}
}
