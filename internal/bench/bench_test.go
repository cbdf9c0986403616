package bench_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/semel-go/semel/internal/bench"
	"github.com/semel-go/semel/internal/redistest"
)

// BenchmarkLock measures each contender in each situation, all on one server.
func BenchmarkLock(b *testing.B) {
	addr := redistest.Start(b).Addr()
	b.Run("uncontended", func(b *testing.B) { benchmarkUncontended(b, addr) })
	b.Run("contended", func(b *testing.B) { benchmarkContended(b, addr) })
	b.Run("processes=4/goroutines=16", func(b *testing.B) { benchmarkProcesses(b, addr) })
	b.Run("handover", func(b *testing.B) { benchmarkHandover(b, addr) })
	b.Run("wire", func(b *testing.B) { benchmarkWire(b, addr) })
	b.Run("queue=50/hold=2s", func(b *testing.B) { benchmarkQueue(b, addr) })
}

// benchmarkUncontended makes pairs that meet nobody. An operation is a pair.
func benchmarkUncontended(b *testing.B, addr string) {
	b.Helper()
	for _, goroutines := range []int{1, 64, 512} {
		for _, name := range bench.Names() {
			b.Run(fmt.Sprintf("goroutines=%d/%s", goroutines, name), func(b *testing.B) {
				c := open(b, name, bench.Settings{Addr: addr})
				keys := bench.NewKeys(goroutines)
				b.ReportAllocs()
				b.ResetTimer()
				giveUpOn(b, name, bench.Repeat(b.Context(), c.Pair, keys, b.N))
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
			})
		}
	}
}

// benchmarkContended lets goroutines of one process want one key. An
// operation is having it once.
func benchmarkContended(b *testing.B, addr string) {
	b.Helper()
	register := openRegister(b)
	for _, goroutines := range []int{16, 256} {
		for _, name := range bench.Plain() {
			b.Run(fmt.Sprintf("goroutines=%d/%s", goroutines, name), func(b *testing.B) {
				c := open(b, name, bench.Settings{Addr: addr, Rivals: goroutines})
				b.ReportAllocs()
				b.ResetTimer()
				reportOutcome(b, bench.Contend(b.Context(), c, register, bench.Contest{
					Key: uniqueKey(b), Goroutines: goroutines, Until: register.Visits() + b.N,
				}))
			})
		}
	}
}

// benchmarkProcesses lets goroutines of four processes want one key. An
// operation is having it once.
func benchmarkProcesses(b *testing.B, addr string) {
	b.Helper()
	const processes, goroutines = 4, 16
	crew := newCrew(b, processes, addr)
	for _, name := range bench.Plain() {
		b.Run(name, func(b *testing.B) {
			outcome, err := crew.Contend(name, bench.Contest{
				Key: uniqueKey(b), Goroutines: goroutines, Until: crew.Visits() + b.N,
			})
			giveUpOn(b, name, err)
			reportOutcome(b, outcome)
		})
	}
}

// reportOutcome replaces the time per operation by the contest's own, which
// starts when all contenders are open.
func reportOutcome(b *testing.B, o bench.Outcome) {
	b.Helper()
	if o.Clashes > 0 {
		b.Fatal(o.Fault())
	}
	if o.Stranded > 0 {
		b.Log(o.Fault())
		b.ReportMetric(float64(o.Stranded), "stranded")
	}
	b.ReportMetric(float64(o.Elapsed)/float64(o.Held), "ns/op")
	b.ReportMetric(o.Rate(), "holds/s")
	b.ReportMetric(float64(bench.Quantile(o.Waits, 0.99).Microseconds()), "p99-wait-µs")
}

// benchmarkHandover measures how long it takes until a process has the lock
// that another one releases. An operation is a hand-over; the time for which
// the lock is held does not count.
func benchmarkHandover(b *testing.B, addr string) {
	b.Helper()
	crew := newCrew(b, 2, addr)
	for _, name := range bench.Plain() {
		b.Run(name, func(b *testing.B) {
			took, err := crew.Relay(name, uniqueKey(b), (b.N+1)/2+1)
			giveUpOn(b, name, err)
			b.ReportMetric(float64(bench.Median(took)), "ns/op")
			b.ReportMetric(float64(bench.Quantile(took, 0.99).Microseconds()), "p99-µs")
		})
	}
}

// benchmarkWire counts what an uncontended pair sends.
func benchmarkWire(b *testing.B, addr string) {
	b.Helper()
	for _, name := range bench.Names() {
		b.Run(name, func(b *testing.B) {
			wire := bench.NewWire()
			c := open(b, name, bench.Settings{Addr: addr, Wire: wire})
			cost, err := bench.Measure(b.Context(), c.Pair, bench.NewKeys(1), b.N, wire)
			giveUpOn(b, name, err)
			b.ReportMetric(cost.Commands, "commands/op")
			b.ReportMetric(cost.Trips, "trips/op")
		})
	}
}

// benchmarkQueue counts what 50 waiters send behind one hold of two seconds.
// An operation is the whole of it.
func benchmarkQueue(b *testing.B, addr string) {
	b.Helper()
	const waiters = 50
	for _, name := range bench.Plain() {
		b.Run(name, func(b *testing.B) {
			var before, after int
			for b.Loop() {
				queue, err := bench.Wait(b.Context(), name, addr, waiters, 2*time.Second)
				giveUpOn(b, name, err)
				before += queue.Before.Work()
				after += queue.After.Work()
			}
			b.ReportMetric(float64(before)/float64(b.N*waiters), "commands-before/waiter")
			b.ReportMetric(float64(after)/float64(b.N*waiters), "commands-after/waiter")
		})
	}
}

// giveUpOn ends a benchmark whose contender has failed. Others may fail under
// load; that is said in the output. Semel may not.
func giveUpOn(b *testing.B, name string, err error) {
	b.Helper()
	if err == nil {
		return
	}
	if strings.HasPrefix(name, bench.Semel) {
		b.Fatal(err)
	}
	b.Skip(err)
}

// uniqueKey returns a key that no earlier round of the benchmark has left held.
func uniqueKey(b *testing.B) string {
	b.Helper()
	return fmt.Sprintf("%s:%d", b.Name(), b.N)
}
