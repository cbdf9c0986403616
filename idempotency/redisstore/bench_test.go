package redisstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/redisstore"
	"github.com/semel-go/semel/internal/redistest"
)

// BenchmarkStore is what a first run and a duplicate ask of a Store. Its
// allocations are what a Guard's are added to.
func BenchmarkStore(b *testing.B) {
	server := redistest.Start(b)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	b.Cleanup(func() { _ = rdb.Close() })
	deferred, err := rdb.AsyncAutoPipeline()
	require.NoError(b, err)
	b.Cleanup(func() { _ = deferred.Close() })
	body := make([]byte, 64)
	for _, face := range []struct {
		name   string
		client redisstore.Client
	}{{"client", rdb}, {"deferred", deferred}} {
		s, err := redisstore.New(face.client, redisstore.Options{})
		require.NoError(b, err)
		ctx := context.Background()
		first := func(b *testing.B, key idempotency.Digest) {
			nonce := newNonce()
			begun, err := s.Begin(ctx, idempotency.BeginRequest{Key: key, Nonce: nonce, Fingerprint: printOf("x"), Lease: lease})
			if err != nil || begun.State != idempotency.StateClaimed {
				b.Fatal(begun.State, err)
			}
			_, err = s.Complete(ctx, idempotency.CompleteRequest{Key: key, Retention: time.Minute, Record: idempotency.Record{
				Nonce: nonce, Fence: begun.Fence, Attempt: begun.Attempt, Fingerprint: printOf("x"), Body: body,
			}})
			if err != nil {
				b.Fatal(err)
			}
		}
		key := func() idempotency.Digest {
			x, y := newNonce(), newNonce()
			return idempotency.Digest(append(x[:], y[:]...))
		}
		b.Run(face.name+"/first", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				first(b, key())
			}
		})
		b.Run(face.name+"/duplicate", func(b *testing.B) {
			b.ReportAllocs()
			key := key()
			first(b, key)
			for b.Loop() {
				if begun, err := s.Begin(ctx, request(key, idempotency.Nonce{1})); err != nil || begun.State != idempotency.StateCompleted {
					b.Fatal(begun.State, err)
				}
			}
		})
	}
}

// BenchmarkServer is what each script costs the server, by its own account,
// reading and answering apart.
func BenchmarkServer(b *testing.B) {
	server := redistest.Start(b)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	b.Cleanup(func() { _ = rdb.Close() })
	s, err := redisstore.New(rdb, redisstore.Options{})
	require.NoError(b, err)
	ctx := context.Background()
	key := func(i int) idempotency.Digest { return idempotency.Digest{byte(i), byte(i >> 8), byte(i >> 16)} }
	nonce := idempotency.Nonce{1}
	free := func(i int) {
		_ = s.Release(ctx, idempotency.ReleaseRequest{Key: key(i), Nonce: nonce, TTL: stub, Compensate: true})
	}
	claim := func(i int) {
		_, _ = s.Begin(ctx, idempotency.BeginRequest{Key: key(i), Nonce: nonce, Fingerprint: printOf("x"), Lease: lease})
	}
	complete := func(i int) {
		_, _ = s.Complete(ctx, idempotency.CompleteRequest{Key: key(i), Record: record(nonce, idempotency.Begun{}), Retention: keep})
	}
	for _, tc := range []struct {
		name           string
		arrange, timed func(i int)
	}{
		{"begin/absent", func(int) {}, claim},
		{"begin/free", func(i int) {
			_ = s.Release(ctx, idempotency.ReleaseRequest{Key: key(i), Nonce: idempotency.Nonce{2}, TTL: stub, Compensate: true})
		}, claim},
		{"begin/held", claim, func(i int) { _, _ = s.Begin(ctx, request(key(i), idempotency.Nonce{2})) }},
		{"begin/completed", complete, func(i int) { _, _ = s.Begin(ctx, request(key(i), idempotency.Nonce{2})) }},
		{"renew", claim, func(i int) {
			_ = s.Renew(ctx, idempotency.RenewRequest{Key: key(i), Nonce: nonce, Lease: 2 * lease})
		}},
		{"complete", claim, complete},
		{"release", claim, free},
		{"bind", func(int) {}, func(i int) { _, _ = s.Bind(ctx, key(i), key(i), keep) }},
		{"look", complete, func(i int) { _, _ = s.Look(ctx, key(i)) }},
	} {
		b.Run(tc.name, func(b *testing.B) {
			rdb.FlushAll(ctx)
			tc.arrange(0)
			tc.timed(0)
			for i := range b.N {
				tc.arrange(i + 1)
			}
			rdb.ConfigResetStat(ctx)
			b.ResetTimer()
			for i := range b.N {
				tc.timed(i + 1)
			}
			b.StopTimer()
			stats, err := server.Info("commandstats")
			require.NoError(b, err)
			var calls, usec int64
			var perCall float64
			_, err = fmt.Sscanf(stats["cmdstat_evalsha"], "calls=%d,usec=%d,usec_per_call=%f", &calls, &usec, &perCall)
			require.NoError(b, err)
			require.EqualValues(b, b.N, calls)
			b.ReportMetric(perCall, "server-µs/op")
		})
	}
}
