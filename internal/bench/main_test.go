package bench_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/semel-go/semel/internal/bench"
)

// TestMain lets this binary be the processes of a crew as well.
func TestMain(m *testing.M) {
	if !bench.IsWorker() {
		os.Exit(m.Run())
	}
	if err := bench.Work(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

// open opens a contender for the length of a test.
func open(tb testing.TB, name string, s bench.Settings) bench.Contender {
	tb.Helper()
	c, err := bench.Open(tb.Context(), name, s)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Error(err)
		}
	})
	return c
}

// openRegister makes a register for the length of a test.
func openRegister(tb testing.TB) *bench.Register {
	tb.Helper()
	r, err := bench.OpenRegister(tb.TempDir() + "/register")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := r.Close(); err != nil {
			tb.Error(err)
		}
	})
	return r
}

// newCrew starts processes for the length of a test.
func newCrew(tb testing.TB, size int, addr string) *bench.Crew {
	tb.Helper()
	c, err := bench.NewCrew(context.WithoutCancel(tb.Context()), size, addr)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Error(err)
		}
	})
	return c
}
