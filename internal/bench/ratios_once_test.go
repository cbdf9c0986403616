package bench_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/semel-go/semel/internal/bench"
)

// ratiosOfOnce compares ways to run something once per key.
func ratiosOfOnce(t *testing.T) {
	b := newBoard(t)
	b.onceAlternating()
	b.onceParallel(64,
		atLeast(1.4, bench.Guard, bench.HandWritten), atLeast(0.85, bench.GuardAuto, bench.HandWrittenAuto))
	b.onceParallel(512,
		told(bench.Guard, bench.HandWritten), atLeast(0.85, bench.GuardAuto, bench.HandWrittenAuto))
	b.onceCosts()
	b.onceInMemory()
	b.summary()
}

// once opens ways to run once until the end of the test.
func (b *board) once(names ...string) []bench.Once {
	var all []bench.Once
	for _, name := range names {
		all = append(all, openOnce(b.t, name, bench.Settings{Addr: b.addr}))
	}
	return all
}

// firsts returns the first runs of all.
func firsts(all []bench.Once) []bench.Op {
	var ops []bench.Op
	for _, o := range all {
		ops = append(ops, bench.First(o))
	}
	return ops
}

// duplicates returns the duplicates of all, whose keys are completed.
func (b *board) duplicates(all []bench.Once, keys []bench.Keys) []bench.Op {
	var ops []bench.Op
	for i, o := range all {
		b.check("duplicates", bench.Complete(context.Background(), o, keys[i]))
		ops = append(ops, bench.Duplicate(o))
	}
	return ops
}

// onceAlternating compares single runs from one goroutine.
func (b *board) onceAlternating() {
	names, n := bench.OnRedis(), b.times(10_000)
	all := b.once(names...)

	situation := "1 goroutine, first runs"
	b.section(fmt.Sprintf("%s: µs a run, %d runs each, alternating", situation, n))
	b.single(situation, "run", names, firsts(all), bench.NewKeys(len(names)), n,
		atLeast(1.15, bench.Guard, bench.HandWritten),
		atLeast(0.85, bench.GuardAuto, bench.HandWrittenAuto),
		told(bench.Guard, bench.TwoCommands),
		told(bench.GuardAuto, bench.TwoCommandsAuto))

	situation = "1 goroutine, duplicates"
	b.section(fmt.Sprintf("%s: µs a replay, %d replays each, alternating", situation, n))
	keys, own := bench.NewKeys(len(names)), []bench.Keys(nil)
	for i := range keys {
		own = append(own, keys[i:i+1])
	}
	b.single(situation, "replay", names, b.duplicates(all, own), keys, n,
		told(bench.Guard, bench.HandWritten), told(bench.Guard, bench.TwoCommands))
}

// onceParallel compares many goroutines, each with keys of its own.
func (b *board) onceParallel(goroutines int, bars ...bar) {
	names, n := bench.OnRedis(), b.times(40)
	all, keys := b.once(names...), make([]bench.Keys, len(names))
	for i := range keys {
		keys[i] = bench.NewKeys(goroutines)
	}

	situation := fmt.Sprintf("%d goroutines, first runs", goroutines)
	b.section(fmt.Sprintf("%s: thousand runs a second, %d alternating slices of %v each", situation, n, rateSlice))
	b.many(situation, "run", names, firsts(all), keys, n, append(bars,
		told(bench.Guard, bench.TwoCommands), told(bench.GuardAuto, bench.TwoCommandsAuto),
		told(bench.GuardAsync, bench.HandWrittenAuto))...)

	situation = fmt.Sprintf("%d goroutines, duplicates", goroutines)
	b.section(fmt.Sprintf("%s: thousand replays a second, %d alternating slices of %v each", situation, n, rateSlice))
	b.many(situation, "replay", names, b.duplicates(all, keys), keys, n,
		told(bench.Guard, bench.HandWritten), told(bench.GuardAuto, bench.HandWrittenAuto))
}

// onceCosts counts allocations, commands and round trips.
func (b *board) onceCosts() {
	const situation = "cost of a run"
	n := b.times(4000)
	b.section(fmt.Sprintf("%s: mean of %d", situation, n))
	first, again := make(costs), make(costs)
	var rows [][]string
	for _, name := range append(bench.OnRedis(), bench.GuardCache) {
		first[name], again[name] = b.onceCost(name, n)
		row := []string{name}
		for _, c := range []bench.Cost{first[name], again[name]} {
			row = append(row, fmt.Sprintf("%.1f", c.Allocations), fmt.Sprintf("%.0f", c.Bytes),
				fmt.Sprintf("%.2f", c.Commands), fmt.Sprintf("%.2f", c.Trips))
		}
		rows = append(rows, row)
	}
	b.table("run | allocations | bytes | commands | round trips | duplicate: allocations | bytes | commands | round trips", rows)
	for _, v := range []verdict{
		{what: "round trips of a first run of " + bench.Guard, value: first[bench.Guard].Trips, bar: 2},
		{what: "round trips of a duplicate of " + bench.Guard, value: again[bench.Guard].Trips, bar: 1},
		{what: "round trips of a first run of " + bench.GuardAuto, value: first[bench.GuardAuto].Trips, bar: 2},
		{what: "round trips of a duplicate of " + bench.GuardAuto, value: again[bench.GuardAuto].Trips, bar: 1},
		// Half a trip in ten thousand: nothing else than none.
		{what: "round trips of a duplicate of " + bench.GuardCache, value: again[bench.GuardCache].Trips, bar: 0.00005},
	} {
		v.situation, v.atMost = situation, true
		b.judge(v)
	}
}

// onceCost returns what a first run and a duplicate cost. What is counted on
// the wire is not measured for its allocations, and the other way round.
func (b *board) onceCost(name string, n int) (first, again bench.Cost) {
	wire := bench.NewWire()
	for _, tap := range []*bench.Wire{nil, wire} {
		keys := []bench.Keys{bench.NewKeys(1)}
		all := []bench.Once{openOnce(b.t, name, bench.Settings{Addr: b.addr, Wire: tap})}
		for _, m := range []struct {
			op   bench.Op
			into *bench.Cost
		}{{firsts(all)[0], &first}, {b.duplicates(all, keys)[0], &again}} {
			cost, err := bench.Measure(context.Background(), m.op, keys[0], n, tap)
			b.check(name, err)
			if tap != nil {
				cost.Allocations, cost.Bytes = m.into.Allocations, m.into.Bytes
			}
			*m.into = cost
		}
	}
	return first, again
}

// onceInMemory measures what needs no server.
func (b *board) onceInMemory() {
	const situation = "1 goroutine, in memory"
	n := b.times(1000)
	b.section(fmt.Sprintf("%s: ns a run, %d slices", situation, n))
	var rows [][]string
	var verdicts []verdict
	for _, m := range inMemory() {
		cost, err := m.measure(b.t, n)
		b.check(m.name, err)
		median, allocations := bench.Median(cost.ns), math.Round(cost.allocations*10)/10
		rows = append(rows, []string{m.name, fmt.Sprintf("%.0f", median), fmt.Sprintf("%.0f", slices.Min(cost.ns)),
			fmt.Sprintf("%.0f", bench.Mean(cost.ns)), fmt.Sprintf("%.0f", cost.cpu), fmt.Sprintf("%.1f", allocations)})
		verdicts = append(verdicts,
			verdict{situation: situation, what: "ns of a " + m.name + ", median of slices", value: median, bar: m.ns, atMost: true},
			verdict{situation: situation, what: "allocations of a " + m.name, value: allocations, bar: m.allocations, atMost: true})
	}
	b.table("run | median | least | mean | processor time | allocations", rows)
	for _, v := range verdicts {
		if v.bar > 0 {
			b.judge(v)
		}
	}
}
