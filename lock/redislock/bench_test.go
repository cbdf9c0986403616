package redislock_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/semel-go/semel/internal/redistest"
	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/lock/redislock"
)

// BenchmarkPair is an uncontended acquire and release. Its allocations are what
// a Locker's are added to.
func BenchmarkPair(b *testing.B) {
	server := redistest.Start(b)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	b.Cleanup(func() { _ = rdb.Close() })
	async, err := rdb.AsyncAutoPipeline()
	if err != nil {
		b.Fatal(err)
	}
	blocking, err := rdb.AutoPipeline()
	if err != nil {
		b.Fatal(err)
	}
	for _, face := range []struct {
		name   string
		client redislock.Client
	}{{"client", rdb}, {"async", async}, {"blocking", blocking}} {
		b.Run(face.name, func(b *testing.B) {
			backend, err := redislock.New(face.client, redislock.Options{})
			if err != nil {
				b.Fatal(err)
			}
			ctx := context.Background()
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n++
				nonce := face.name + strconv.Itoa(n)
				if _, err := backend.Acquire(ctx, lock.Request{Key: "invoice:in_123", Nonce: nonce, TTL: 10 * time.Second, Block: 1}); err != nil {
					b.Fatal(err)
				}
				if err := backend.Release(ctx, lock.ReleaseRequest{Key: "invoice:in_123", Nonce: nonce, TTL: 10 * time.Second}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("raw", func(b *testing.B) {
		script := redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`)
		ctx := context.Background()
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			n++
			nonce := "01J8ZQ4Y3N5V7X9B2D4F" + strconv.Itoa(100000+n%900000)
			if err := rdb.SetNX(ctx, "raw", nonce, 10*time.Second).Err(); err != nil {
				b.Fatal(err)
			}
			if err := script.Run(ctx, rdb, []string{"raw"}, nonce).Err(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
