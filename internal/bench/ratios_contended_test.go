package bench_test

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/semel-go/semel/internal/bench"
)

// contestSlice is how long one contest goes on.
const contestSlice = 500 * time.Millisecond

// contended compares goroutines of one process that want the same key.
func (b *board) contended(goroutines int) {
	situation := fmt.Sprintf("%d goroutines, one key", goroutines)
	names := bench.Plain()
	contenders := b.open(goroutines, names...)
	register := openRegister(b.t)
	visits := 0
	outcomes := b.contests(situation, 10, func(i int, key string) bench.Outcome {
		o := bench.Contend(context.Background(), contenders[i], register,
			bench.Contest{Key: key, Goroutines: goroutines, For: contestSlice})
		visits += len(o.Waits)
		return o
	})
	if register.Visits() != visits {
		b.printf("  %d of %d increments were lost\n", visits-register.Visits(), visits)
	}
	best, ratio := outcomes.best()
	b.judge(verdict{situation: situation, bar: 20, value: ratio,
		what: "rate of " + bench.Semel + " / " + best + ", the best peer, median of slices"})
	b.judge(verdict{situation: situation, bar: 0.1, atMost: true,
		value: float64(outcomes.p99(bench.Semel)) / float64(outcomes.p99(best)),
		what:  "p99 wait of " + bench.Semel + " / " + best})
}

// processes compares four processes whose goroutines want the same key.
func (b *board) processes() {
	const size, goroutines = 4, 16
	situation := fmt.Sprintf("%d processes with %d goroutines each, one key", size, goroutines)
	names := bench.Plain()
	crew := newCrew(b.t, size, b.addr)
	outcomes := b.contests(situation, 10, func(i int, key string) bench.Outcome {
		o, err := crew.Contend(names[i], bench.Contest{Key: key, Goroutines: goroutines, For: contestSlice})
		b.check(names[i], err)
		return o
	})
	best, ratio := outcomes.best()
	b.judge(verdict{situation: situation, bar: 2, value: ratio,
		what: "rate of " + bench.Semel + " / " + best + ", the best peer, median of slices"})
}

// contests holds contests of all plain contenders, alternating, and prints
// what came of them.
func (b *board) contests(situation string, slices int, contest func(i int, key string) bench.Outcome) outcomes {
	n := b.times(slices)
	b.section(fmt.Sprintf("%s: thousand holds a second, waits in µs, %d alternating slices of %v each", situation, n, contestSlice))
	names := bench.Plain()
	all := make(outcomes)
	for turn := range n {
		for i := range names {
			i = (i + turn) % len(names)
			runtime.GC()
			// A key of its own: what a slice leaves behind is not met again.
			o := contest(i, fmt.Sprintf("bench:contest:%s:%s:%d", situation, names[i], turn))
			b.fault(names[i], o.Fault())
			all[names[i]] = append(all[names[i]], o)
		}
	}
	var rows [][]string
	for _, name := range names {
		waits, least := all.waits(name), 1.0
		for _, o := range all[name] {
			least = min(least, o.Evenness())
		}
		rows = append(rows, []string{name, thousands(bench.Median(all.rates(name))),
			micros(bench.Median(waits)), micros(bench.Quantile(waits, 0.99)), micros(bench.Quantile(waits, 1)),
			fmt.Sprintf("%.2f", least)})
	}
	b.table("lock | median | wait, median | p99 | longest | least share", rows)
	return all
}

// outcomes is what came of each contender's contests.
type outcomes map[string][]bench.Outcome

func (all outcomes) rates(name string) []float64 {
	var rates []float64
	for _, o := range all[name] {
		rates = append(rates, o.Rate())
	}
	return rates
}

func (all outcomes) waits(name string) []time.Duration {
	var waits []time.Duration
	for _, o := range all[name] {
		waits = append(waits, o.Waits...)
	}
	return waits
}

func (all outcomes) p99(name string) time.Duration { return bench.Quantile(all.waits(name), 0.99) }

// best returns the fastest of the peers, and how many times faster Semel is,
// slice by slice.
func (all outcomes) best() (name string, ratio float64) {
	rate := 0.0
	for _, peer := range bench.Plain() {
		if r := bench.Median(all.rates(peer)); peer != bench.Semel && r > rate {
			name, rate = peer, r
		}
	}
	return name, bench.Median(bench.Ratios(all.rates(bench.Semel), all.rates(name)))
}

// handover shows how long a lock takes from one process to another.
func (b *board) handover() {
	const times = 15
	n := b.times(10)
	b.section(fmt.Sprintf("hand-over between 2 processes: µs from the start of the release, %d hand-overs each, in %d alternating blocks", 2*times*n-n, n))
	names := bench.Plain()
	crew := newCrew(b.t, 2, b.addr)
	took := make(map[string][]time.Duration)
	for turn := range n {
		for i := range names {
			name := names[(i+turn)%len(names)]
			block, err := crew.Relay(name, fmt.Sprintf("bench:relay:%s:%d", name, turn), times)
			b.fault(name, err)
			took[name] = append(took[name], block...)
		}
	}
	var rows [][]string
	for _, name := range names {
		rows = append(rows, []string{name, micros(bench.Mean(took[name])), micros(bench.Median(took[name])),
			micros(bench.Quantile(took[name], 0.99))})
	}
	b.table("lock | mean | median | p99", rows)
}

// queue counts what waiters say.
func (b *board) queue() {
	const (
		situation = "50 waiters in 50 lockers behind one hold of 2 s"
		waiters   = 50
	)
	b.section(situation + ": commands")
	// While k still wait, a grant may cost the two of its own and an ask of
	// each of them.
	allowed := 0
	for k := range waiters {
		allowed += 2 + k
	}
	var rows [][]string
	queues := make(map[string]bench.Queue)
	for _, name := range bench.Plain() {
		queue, err := bench.Wait(context.Background(), name, b.addr, waiters, 2*time.Second)
		b.fault(name, err)
		queues[name] = queue
		rows = append(rows, []string{name,
			fmt.Sprintf("%.1f", float64(queue.Before.Work())/waiters),
			fmt.Sprintf("%.1f", float64(queue.After.Work())/waiters),
			fmt.Sprint(queue.Before.Commands), fmt.Sprint(queue.After.Commands)})
	}
	b.table("lock | a waiter, until the release | a waiter, after it | all until | all after", rows)
	ours := queues[bench.Semel]
	b.judge(verdict{situation: situation, atMost: true, bar: 3,
		value: float64(ours.Before.Work()) / waiters, what: "commands a waiter until the release"})
	b.judge(verdict{situation: situation, atMost: true, bar: float64(allowed),
		value: float64(ours.After.Requests()), what: "asks and releases after it, of all"})
}
