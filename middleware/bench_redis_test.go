package middleware_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/redisstore"
	"github.com/semel-go/semel/internal/redistest"
	semelhttp "github.com/semel-go/semel/middleware"
)

// BenchmarkOnRedis compares, in alternating slices of time, how many first
// requests of 1 KiB the middleware lets through with 64 at once, and how many
// bare runs of the guard on the same server there are. An operation is a pair of
// slices; their ratio is what is to be read.
func BenchmarkOnRedis(b *testing.B) {
	const callers, slice = 64, 50 * time.Millisecond
	rdb := redis.NewClient(&redis.Options{Addr: redistest.Start(b).Addr(), PoolSize: callers})
	b.Cleanup(func() { _ = rdb.Close() })
	store, err := redisstore.New(rdb, redisstore.Options{})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, store.Close()) })
	guard := env{store: store}.guard(b, idempotency.Options{})

	body := []byte(`{"text":"` + strings.Repeat("x", 1024-11) + `"}`)
	handler := semelhttp.Idempotency(guard, semelhttp.SharedScope(), semelhttp.IdempotencyOptions{})(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(body)
		}))
	bare := func(ctx context.Context, key string) {
		print := idempotency.FingerprintOf(body) // as whoever runs requests has one
		_, _ = guard.Run(ctx, idempotency.Key{Scope: "bench", ID: key}, idempotency.RunOptions{Fingerprint: print},
			func(context.Context) (idempotency.Result, error) {
				return idempotency.Result{Codec: "bench", Data: body}, nil
			})
	}
	request := func(ctx context.Context, key string) {
		r := (&http.Request{
			Method: http.MethodPost, RequestURI: "/payments", URL: &url.URL{Path: "/payments"},
			Header:        http.Header{"Idempotency-Key": {key}, "Content-Type": {"application/json"}},
			ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)),
		}).WithContext(ctx)
		handler.ServeHTTP(&sink{make(http.Header)}, r)
	}

	var keys atomic.Int64
	measure := func(op func(context.Context, string)) float64 {
		ctx, cancel := context.WithCancel(b.Context())
		defer cancel()
		var done atomic.Int64
		start := time.Now()
		var all sync.WaitGroup
		for range callers {
			all.Go(func() {
				for time.Since(start) < slice {
					op(ctx, fmt.Sprint("key-", keys.Add(1)))
					done.Add(1)
				}
			})
		}
		all.Wait()
		return float64(done.Load()) / time.Since(start).Seconds()
	}
	var ratios []float64
	for b.Loop() {
		ratios = append(ratios, measure(request)/measure(bare))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "of-the-guard's-rate")
	b.ReportMetric(0, "ns/op")
}
