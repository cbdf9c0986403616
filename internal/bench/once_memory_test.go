package bench_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/memstore"
	"github.com/semel-go/semel/internal/bench"
)

// memoryRun is a way in which a Guard answers without a server.
type memoryRun struct {
	name string
	// cache turns the local cache on.
	cache bool
	// first says that each run is of a key of its own, else all are duplicates
	// of one.
	first bool
	// ns and allocations are the bars for one run, 0 if there is none.
	ns, allocations float64
}

func inMemory() []memoryRun {
	return []memoryRun{
		{name: "first run on memstore", first: true, ns: 3000, allocations: 12},
		{name: "duplicate on memstore"},
		{name: "duplicate in the local cache", cache: true, ns: 500},
	}
}

// runs is what one kind of run is made with.
type runs struct {
	guard *idempotency.Guard
	keys  []idempotency.Key
	next  int
	fn    func(context.Context) (idempotency.Result, error)
}

// open makes ready for n runs.
func (m memoryRun) open(tb testing.TB, n int) *runs {
	tb.Helper()
	store, err := memstore.New(memstore.Options{MaxEntries: math.MaxInt, MaxBytes: math.MaxInt64})
	require.NoError(tb, err)
	o := idempotency.Options{}
	if m.cache {
		o.Cache = idempotency.LocalCache{Bytes: 1 << 20, TTL: time.Minute}
	}
	guard, err := idempotency.New(store, o)
	require.NoError(tb, err)
	tb.Cleanup(func() {
		require.NoError(tb, errors.Join(guard.Close(context.Background()), store.Close()))
	})
	result := idempotency.Result{Codec: "json", Data: []byte(`{"ok":true}`)}
	r := &runs{guard: guard, fn: func(context.Context) (idempotency.Result, error) { return result, nil }}
	if m.first {
		for i := range n {
			r.keys = append(r.keys, idempotency.Key{Scope: "bench", ID: "in_" + strconv.Itoa(i)})
		}
		return r
	}
	r.keys = []idempotency.Key{{Scope: "bench", ID: "in_0"}}
	require.NoError(tb, r.do(1))
	return r
}

// do makes n more runs.
func (r *runs) do(n int) error {
	ctx := context.Background()
	for range n {
		key := r.keys[r.next%len(r.keys)]
		r.next++
		if _, err := r.guard.Run(ctx, key, idempotency.RunOptions{}, r.fn); err != nil {
			return err
		}
	}
	return nil
}

// memoryCost is what one run in memory costs.
type memoryCost struct {
	// ns is how long it took in each of many short slices: so short that most
	// of them pass without the machine turning to something else.
	ns []float64
	// cpu is the processor time in ns, the garbage collector's included, which
	// also collects in the background.
	cpu, allocations float64
}

// measure makes runs in so many slices.
func (m memoryRun) measure(tb testing.TB, slices int) (cost memoryCost, err error) {
	tb.Helper()
	const each = 500
	n := float64(slices * each)
	r := m.open(tb, slices*each)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu := bench.CPUTime()
	for range slices {
		start := time.Now()
		if err := r.do(each); err != nil {
			return cost, err
		}
		cost.ns = append(cost.ns, float64(time.Since(start))/each)
	}
	cost.cpu = float64(bench.CPUTime()-cpu) / n
	runtime.ReadMemStats(&after)
	cost.allocations = float64(after.Mallocs-before.Mallocs) / n
	return cost, nil
}

// BenchmarkOnceInMemory measures what a Guard costs where no server is asked.
func BenchmarkOnceInMemory(b *testing.B) {
	for _, m := range inMemory() {
		b.Run(m.name, func(b *testing.B) {
			r := m.open(b, b.N)
			b.ReportAllocs()
			b.ResetTimer()
			start := bench.CPUTime()
			require.NoError(b, r.do(b.N))
			b.ReportMetric(float64(bench.CPUTime()-start)/float64(b.N), "cpu-ns/op")
		})
	}
}
