package bench_test

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/semel-go/semel/internal/bench"
)

// TestRatiosHash compares ways to make a key of a command's content. It needs no
// server.
func TestRatiosHash(t *testing.T) {
	if !*ratiosFlag {
		t.Skip("measures; run it with -v -ratios")
	}
	b := &board{t: t, out: os.Stdout, scale: *scaleFlag}
	flat, err := bench.FlatHashes()
	b.check("flat", err)
	b.hashes("hash of a flat command of 8 fields", flat)
	nested, err := bench.NestedHashes()
	b.check("nested", err)
	b.hashes("hash of a command with a slice and a map", nested)
	b.summary()
}

// hashes compares ways to hash one command, in slices that alternate.
func (b *board) hashes(situation string, all []bench.Hash) {
	const each = 500
	n := b.times(1000)
	b.section(fmt.Sprintf("%s: ns, %d alternating slices of %d each", situation, n, each))
	ns, allocations := make(map[string][]float64), make(map[string]float64)
	var before, after runtime.MemStats
	runtime.GC()
	for turn := range n {
		for i := range all {
			h := all[(i+turn)%len(all)]
			runtime.ReadMemStats(&before)
			start := time.Now()
			b.check(h.Name, h.Repeat(each))
			ns[h.Name] = append(ns[h.Name], float64(time.Since(start))/each)
			runtime.ReadMemStats(&after)
			allocations[h.Name] += float64(after.Mallocs-before.Mallocs) / float64(n*each)
		}
	}
	var rows [][]string
	for _, h := range all {
		rows = append(rows, []string{h.Name, fmt.Sprintf("%.0f", bench.Median(ns[h.Name])),
			fmt.Sprintf("%.0f", slices.Min(ns[h.Name])), fmt.Sprintf("%.0f", bench.Mean(ns[h.Name])),
			fmt.Sprintf("%.1f", allocations[h.Name])})
	}
	b.table("hash | median | least | mean | allocations", rows)
	for _, v := range []struct {
		ours, theirs string
		bar          float64
	}{{bench.CommandHash, bench.JSONHash, 0.6}, {bench.KeyedHash, bench.JSONHash, 0}, {bench.CommandHash, bench.Hashstructure, 0}} {
		b.judge(verdict{
			situation: situation, atMost: true, bar: v.bar,
			what:  "time of " + v.ours + " / " + v.theirs + ", median of slices",
			value: bench.Median(bench.Ratios(ns[v.ours], ns[v.theirs])),
		})
	}
}

// BenchmarkHash measures each way to hash a command.
func BenchmarkHash(b *testing.B) {
	for _, command := range []struct {
		name   string
		hashes func() ([]bench.Hash, error)
	}{{"flat", bench.FlatHashes}, {"nested", bench.NestedHashes}} {
		all, err := command.hashes()
		if err != nil {
			b.Fatal(err)
		}
		for _, h := range all {
			b.Run(command.name+"/"+h.Name, func(b *testing.B) {
				b.ReportAllocs()
				if err := h.Repeat(b.N); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}
