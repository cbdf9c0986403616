package bench_test

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/semel-go/semel/internal/bench"
	"github.com/semel-go/semel/internal/redistest"
)

var (
	ratiosFlag = flag.Bool("ratios", false, "compare the contenders, alternating, in TestRatios")
	strictFlag = flag.Bool("ratios.strict", false, "fail if a ratio is below its bar")
	scaleFlag  = flag.Float64("ratios.scale", 1, "how much longer than usual, or shorter, to measure")
)

// TestRatios measures all contenders in one run in which they alternate, and
// prints how they compare, with the bars that Semel has to clear.
func TestRatios(t *testing.T) {
	if !*ratiosFlag {
		t.Skip("measures for minutes; run it with -v -timeout 30m -ratios")
	}
	t.Run("locks", ratiosOfLocks)
	t.Run("once", ratiosOfOnce)
}

func newBoard(t *testing.T) *board {
	t.Helper()
	return &board{t: t, out: os.Stdout, addr: redistest.Start(t).Addr(), scale: *scaleFlag}
}

// ratiosOfLocks compares Semel's locks with others.
func ratiosOfLocks(t *testing.T) {
	b := newBoard(t)
	b.alternating()
	b.parallel(64, atLeast(1.3, bench.SemelAuto, bench.Redislock), atLeast(0.8, bench.SemelAuto, bench.Rueidislock))
	b.parallel(512, atLeast(1.6, bench.SemelAuto, bench.Redislock))
	b.costs()
	b.contended(16)
	b.contended(256)
	b.processes()
	b.handover()
	b.queue()
	b.summary()
}

// board measures and keeps the score.
type board struct {
	t     *testing.T
	out   io.Writer
	addr  string
	scale float64
	score []verdict
}

// verdict is a measured value beside its bar. Without one it is only told.
type verdict struct {
	what      string
	value     float64
	bar       float64
	atMost    bool
	situation string
}

func (v verdict) cleared() bool {
	if v.atMost {
		return v.value <= v.bar
	}
	return v.value >= v.bar
}

// times scales a number of repetitions, to no less than three.
func (b *board) times(n int) int { return max(int(float64(n)*b.scale), 3) }

func (b *board) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(b.out, format, args...); err != nil {
		b.t.Fatal(err)
	}
}

// section starts the output of a situation.
func (b *board) section(situation string) {
	b.printf("\n%s\n", situation)
}

// table prints rows of cells below a header.
func (b *board) table(header string, rows [][]string) {
	lines := []string{strings.ReplaceAll(header, " | ", "\t")}
	for _, row := range rows {
		lines = append(lines, strings.Join(row, "\t"))
	}
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, err := io.WriteString(w, strings.Join(lines, "\t\n")+"\t\n")
	b.check("table", errors.Join(err, w.Flush()))
	b.printf("%s", &out)
}

// judge prints a value, and notes it if it has a bar.
func (b *board) judge(v verdict) {
	if v.bar > 0 {
		b.score = append(b.score, v)
	}
	b.printf("  %s\n", v)
}

func (v verdict) String() string {
	if v.bar == 0 {
		return fmt.Sprintf("      %s: %.4g", v.what, v.value)
	}
	sign, word := "≥", "PASS"
	if v.atMost {
		sign = "≤"
	}
	if !v.cleared() {
		word = "BELOW"
	}
	return fmt.Sprintf("%-5s %s: %.4g (bar %s %.4g)", word, v.what, v.value, sign, v.bar)
}

// summary repeats all verdicts.
func (b *board) summary() {
	b.section("summary")
	below := 0
	for _, v := range b.score {
		b.printf("  %s: %s\n", v.situation, v)
		if !v.cleared() {
			below++
		}
	}
	b.printf("%d of %d bars cleared\n", len(b.score)-below, len(b.score))
	if below > 0 && *strictFlag {
		b.t.Errorf("%d bars not cleared", below)
	}
}

// open opens contenders until the end of the test.
func (b *board) open(rivals int, names ...string) []bench.Contender {
	var contenders []bench.Contender
	for _, name := range names {
		contenders = append(contenders, open(b.t, name, bench.Settings{Addr: b.addr, Rivals: rivals}))
	}
	return contenders
}

// fault tells of one that failed. Ours must not.
func (b *board) fault(name string, err error) {
	b.t.Helper()
	if err == nil {
		return
	}
	b.printf("  %s: %v\n", name, err)
	if strings.HasPrefix(name, bench.Semel) || strings.HasPrefix(name, bench.Guard) {
		b.t.Errorf("%s: %v", name, err)
	}
}

// check ends the test on an error: then there is nothing to compare.
func (b *board) check(name string, err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatalf("%s: %v", name, err)
	}
}

// micros prints a duration in microseconds.
func micros[T ~int64 | ~float64](ns T) string {
	return fmt.Sprintf("%.1f", float64(ns)/float64(time.Microsecond))
}

// thousands prints a rate in thousands.
func thousands(rate float64) string { return fmt.Sprintf("%.1f", rate/1000) }
