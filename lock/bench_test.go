package lock_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/lock/memlock"
)

func BenchmarkUncontended(b *testing.B) {
	backend, _ := memlock.New(memlock.Options{})
	locker, err := lock.New(backend, lock.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer locker.Close(context.Background())
	b.ReportAllocs()
	for b.Loop() {
		lease, err := locker.Acquire(context.Background(), "k")
		if err != nil {
			b.Fatal(err)
		}
		if err := lease.Release(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkContended(b *testing.B) {
	for _, n := range []int{16, 256} {
		b.Run("goroutines="+itoa(n), func(b *testing.B) {
			backend, _ := memlock.New(memlock.Options{})
			locker, err := lock.New(backend, lock.Options{Wait: time.Minute})
			if err != nil {
				b.Fatal(err)
			}
			defer locker.Close(context.Background())
			b.ReportAllocs()
			var left atomic.Int64
			left.Store(int64(b.N))
			var wg sync.WaitGroup
			b.ResetTimer()
			for range n {
				wg.Go(func() {
					for left.Add(-1) >= 0 {
						lease, err := locker.Acquire(context.Background(), "k")
						if err != nil {
							b.Error(err)
							return
						}
						_ = lease.Release(context.Background())
					}
				})
			}
			wg.Wait()
		})
	}
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}
