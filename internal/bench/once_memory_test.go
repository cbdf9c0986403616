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

// do makes n runs.
func (r *runs) do(n int) error {
	ctx := context.Background()
	for i := range n {
		if _, err := r.guard.Run(ctx, r.keys[i%len(r.keys)], idempotency.RunOptions{}, r.fn); err != nil {
			return err
		}
	}
	return nil
}

// memoryCost is what one run in memory costs: processor time, which on a busy
// machine tells more than the time that passes, and is no less than that on an
// idle one.
type memoryCost struct{ ns, allocations float64 }

// measure makes n runs.
func (m memoryRun) measure(t *testing.T, n int) (cost memoryCost, err error) {
	t.Helper()
	t.Run(m.name, func(t *testing.T) { // its end frees what was opened
		r := m.open(t, n)
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := bench.CPUTime()
		err = r.do(n)
		took := bench.CPUTime() - start
		runtime.ReadMemStats(&after)
		cost = memoryCost{
			ns:          float64(took) / float64(n),
			allocations: float64(after.Mallocs-before.Mallocs) / float64(n),
		}
	})
	return cost, err
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
