package bench

import (
	"context"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// Cost is what one uncontended operation costs besides time.
type Cost struct {
	// Allocations on the heap, those of background goroutines included, and
	// Bytes allocated.
	Allocations, Bytes float64
	// Commands sent, and Trips to the server and back. They are counted if the
	// client's traffic goes over a Wire.
	Commands, Trips float64
	// CPU is this process's processor time, that of background goroutines
	// included. What others do on the machine makes it larger, but by far less
	// than the time that passes.
	CPU time.Duration
}

// Measure does op n times from as many goroutines at once as the keys are for
// and returns what one time cost. The client's traffic goes over wire, or is
// not counted if that is nil.
func Measure(ctx context.Context, op Op, keys Keys, n int, wire *Wire) (Cost, error) {
	var next, done atomic.Int64
	more := func() bool { return next.Add(1) <= int64(n) }
	if err := spread(ctx, op, keys, more, &done); err != nil { // Warm what is made only once.
		return Cost{}, err
	}
	next.Store(0)
	var sent Traffic
	if wire != nil {
		sent = wire.Traffic()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	busy := CPUTime()
	err := spread(ctx, op, keys, more, &done)
	busy = CPUTime() - busy
	runtime.ReadMemStats(&after)
	cost := Cost{
		Allocations: float64(after.Mallocs-before.Mallocs) / float64(n),
		Bytes:       float64(after.TotalAlloc-before.TotalAlloc) / float64(n),
		CPU:         busy / time.Duration(n),
	}
	if wire != nil {
		sent = wire.Traffic().Since(sent)
		cost.Commands, cost.Trips = float64(sent.Work())/float64(n), float64(sent.Trips)/float64(n)
	}
	return cost, err
}

// CPUTime returns the processor time that this process has used so far.
func CPUTime() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
