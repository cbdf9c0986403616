package bench_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/semel-go/semel/internal/bench"
)

// bar is what one contender's rate must be as a multiple of another's.
type bar struct {
	factor float64
	ours   string
	theirs string
}

func atLeast(factor float64, ours, theirs string) bar { return bar{factor, ours, theirs} }

// told has no bar: the ratio is only told.
func told(ours, theirs string) bar { return bar{0, ours, theirs} }

// alternating compares single pairs from one goroutine.
func (b *board) alternating() {
	const situation = "1 goroutine, uncontended"
	n := b.times(10_000)
	b.section(fmt.Sprintf("%s: µs a pair, %d pairs each, alternating", situation, n))
	names := bench.Names()
	b.single(situation, "lock", names, pairs(b.open(1, names...)), bench.NewKeys(len(names)), n,
		atLeast(0.75, bench.Semel, bench.Raw),
		atLeast(0.85, bench.Semel, bench.Redislock))
}

// pairs returns what contenders are measured by.
func pairs(contenders []bench.Contender) []bench.Op {
	var ops []bench.Op
	for _, c := range contenders {
		ops = append(ops, c.Pair)
	}
	return ops
}

// single compares single operations from one goroutine. It prints them below
// what they are operations of.
func (b *board) single(situation, of string, names []string, ops []bench.Op, keys bench.Keys, n int, bars ...bar) {
	took, err := bench.Alternate(context.Background(), ops, keys, n)
	b.check(situation, err)
	means, medians := make(map[string]float64), make(map[string]float64)
	var rows [][]string
	for i, name := range names {
		means[name], medians[name] = bench.Mean(took[i]), float64(bench.Median(took[i]))
		rows = append(rows, []string{name, micros(means[name]), micros(medians[name]), micros(bench.Quantile(took[i], 0.99))})
	}
	b.table(of+" | mean | median | p99", rows)
	for _, bar := range bars {
		b.judge(verdict{
			situation: situation,
			what: fmt.Sprintf("rate of %s / %s by means (%.3g by medians)",
				bar.ours, bar.theirs, medians[bar.theirs]/medians[bar.ours]),
			value: means[bar.theirs] / means[bar.ours],
			bar:   bar.factor,
		})
	}
}

// parallel compares many goroutines that do not get into each other's way.
func (b *board) parallel(goroutines int, bars ...bar) {
	situation := fmt.Sprintf("%d goroutines, uncontended", goroutines)
	n := b.times(40)
	b.section(fmt.Sprintf("%s: thousand pairs a second, %d alternating slices of %v each", situation, n, rateSlice))
	names := bench.Names()
	keys := make([]bench.Keys, len(names))
	for i := range keys {
		keys[i] = bench.NewKeys(goroutines)
	}
	b.many(situation, "lock", names, pairs(b.open(1, names...)), keys, n, bars...)
}

// rateSlice is how long one contender goes on before it is the next one's turn.
const rateSlice = 100 * time.Millisecond

// many compares operations from as many goroutines as each of the keys is for.
// It prints them below what they are operations of.
func (b *board) many(situation, of string, names []string, ops []bench.Op, keys []bench.Keys, n int, bars ...bar) {
	rates := make(map[string][]float64)
	for turn := range n {
		for i := range ops {
			i = (i + turn) % len(ops)
			runtime.GC() // Nobody pays for the garbage of the one before.
			rate, err := bench.Rate(context.Background(), ops[i], keys[i], rateSlice)
			b.fault(names[i], err)
			rates[names[i]] = append(rates[names[i]], rate)
		}
	}
	var rows [][]string
	for _, name := range names {
		rows = append(rows, []string{name, thousands(bench.Median(rates[name])),
			thousands(slices.Min(rates[name])), thousands(slices.Max(rates[name]))})
	}
	b.table(of+" | median | least | most", rows)
	for _, bar := range bars {
		b.judge(verdict{
			situation: situation,
			what:      fmt.Sprintf("rate of %s / %s, median of slices", bar.ours, bar.theirs),
			value:     bench.Median(bench.Ratios(rates[bar.ours], rates[bar.theirs])),
			bar:       bar.factor,
		})
	}
}

// costs counts allocations, commands and round trips of a pair.
func (b *board) costs() {
	const situation, many = "cost of a pair", 64
	n := b.times(4000)
	b.section(fmt.Sprintf("%s, uncontended: mean of %d", situation, n))
	cancellable, cancel := context.WithCancel(context.Background())
	defer cancel()
	single, stoppable, parallel, sent := make(costs), make(costs), make(costs), make(costs)
	var rows [][]string
	for _, name := range bench.Names() {
		wire := bench.NewWire()
		c, tapped := b.open(1, name)[0], open(b.t, name, bench.Settings{Addr: b.addr, Wire: wire})
		measure := func(into costs, ctx context.Context, c bench.Contender, goroutines int, wire *bench.Wire) {
			cost, err := bench.Measure(ctx, c.Pair, bench.NewKeys(goroutines), n, wire)
			b.check(name, err)
			into[name] = cost
		}
		measure(single, context.Background(), c, 1, nil)
		measure(stoppable, cancellable, c, 1, nil)
		measure(parallel, context.Background(), c, many, nil)
		measure(sent, context.Background(), tapped, 1, wire)
		rows = append(rows, []string{name,
			fmt.Sprintf("%.1f", single[name].Allocations), fmt.Sprintf("%.0f", single[name].Bytes),
			fmt.Sprintf("%.1f", stoppable[name].Allocations), fmt.Sprintf("%.1f", parallel[name].Allocations),
			fmt.Sprintf("%.2f", sent[name].Commands), fmt.Sprintf("%.2f", sent[name].Trips)})
	}
	b.table(fmt.Sprintf("lock | allocations | bytes | allocations, cancellable context | %d goroutines | commands | round trips", many), rows)
	for _, v := range []verdict{
		{what: "allocations of " + bench.Semel, value: single[bench.Semel].Allocations, bar: 30},
		{what: "allocations of " + bench.Semel + " with a cancellable context", value: stoppable[bench.Semel].Allocations, bar: 36},
		// The face's own cost for a batch is shared by those who are in it.
		{what: fmt.Sprintf("allocations of %s from %d goroutines", bench.SemelAuto, many), value: parallel[bench.SemelAuto].Allocations, bar: 30},
		{what: "round trips of " + bench.Semel, value: sent[bench.Semel].Trips, bar: 2},
		{what: "round trips of " + bench.SemelAuto, value: sent[bench.SemelAuto].Trips, bar: 2},
	} {
		// What happens in the background now and then is not the pair's.
		v.value = math.Round(v.value*10) / 10
		v.situation, v.atMost = situation, true
		b.judge(v)
	}
}

// costs is what a pair of each contender costs.
type costs map[string]bench.Cost
