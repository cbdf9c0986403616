package bench_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/bench"
	"github.com/semel-go/semel/internal/redistest"
)

// careless lets everybody in.
type careless struct{}

func (careless) Pair(context.Context, string) error { return nil }

func (careless) Hold(_ context.Context, _ string, inside func()) error {
	inside()
	return nil
}

func (careless) Close() error { return nil }

// greedy never gives the key back.
type greedy struct {
	careless
	key chan struct{}
}

func (g greedy) Hold(ctx context.Context, _ string, inside func()) error {
	select {
	case g.key <- struct{}{}:
		inside()
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestContendSeesThoseWhoAreNotAlone(t *testing.T) {
	t.Parallel()
	const n = 500_000
	outcome := bench.Contend(t.Context(), careless{}, openRegister(t),
		bench.Contest{Key: "key", Goroutines: 16, Until: n})
	require.Positive(t, outcome.Clashes)
	require.Error(t, outcome.Fault())
}

func TestContendSeesThoseWhoNeverHaveTheKey(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	outcome := bench.Contend(ctx, greedy{key: make(chan struct{}, 1)}, openRegister(t),
		bench.Contest{Key: "key", Goroutines: 3, For: time.Minute})
	require.Len(t, outcome.Waits, 1)
	require.Equal(t, 3, outcome.Stranded)
	require.ErrorContains(t, outcome.Fault(), "3 stranded")
}

// reliable returns the contenders that can be asked to let nobody wait in vain.
// rueidislock 1.0.79 at times leaves a waiter asleep for good: a refused try may
// count itself out of its gate before it counts as a failure, and the gate is
// dropped with others waiting at it.
func reliable() []string {
	return slices.DeleteFunc(bench.Names(), func(name string) bool { return name == bench.Rueidislock })
}

// Every contender must be a lock, or its numbers mean nothing.
func TestContendersExclude(t *testing.T) {
	t.Parallel()
	addr := redistest.Start(t).Addr()
	for _, name := range bench.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := open(t, name, bench.Settings{Addr: addr, Rivals: 4})
			register := openRegister(t)
			outcome := bench.Contend(t.Context(), c, register,
				bench.Contest{Key: name, Goroutines: 4, Until: 100})
			require.Zero(t, outcome.Clashes)
			require.Len(t, outcome.Waits, register.Visits())
			require.Equal(t, 4, outcome.Goroutines)
			require.Positive(t, outcome.Elapsed)
			if slices.Contains(reliable(), name) {
				require.NoError(t, outcome.Fault())
				require.Equal(t, 100, outcome.Held)
			}
		})
	}
}

func TestPairsAlternateAndCost(t *testing.T) {
	t.Parallel()
	addr := redistest.Start(t).Addr()
	for _, name := range bench.Names() {
		wire := bench.NewWire()
		c := open(t, name, bench.Settings{Addr: addr, Wire: wire})
		require.NoError(t, bench.Repeat(t.Context(), c.Pair, bench.NewKeys(8), 100), name)
		rate, err := bench.Rate(t.Context(), c.Pair, bench.NewKeys(2), 10*time.Millisecond)
		require.NoError(t, err, name)
		require.Positive(t, rate, name)
		took, err := bench.Alternate(t.Context(), []bench.Op{c.Pair, careless{}.Pair}, bench.NewKeys(2), 10)
		require.NoError(t, err, name)
		require.Len(t, took[0], 10, name)
		require.Len(t, took[1], 10, name)
		cost, err := bench.Measure(t.Context(), c.Pair, bench.NewKeys(1), 100, wire)
		require.NoError(t, err, name)
		require.InDelta(t, 2, cost.Commands, 0.2, name)
		require.InDelta(t, 2, cost.Trips, 0.2, name)
		require.Positive(t, cost.Allocations, name)
	}
}

func TestCrew(t *testing.T) {
	t.Parallel()
	crew := newCrew(t, 2, redistest.Start(t).Addr())
	for _, name := range []string{bench.Raw, bench.Semel} {
		outcome, err := crew.Contend(name, bench.Contest{Key: name, Goroutines: 2, Until: crew.Visits() + 50})
		require.NoError(t, err, name)
		require.NoError(t, outcome.Fault(), name)
		require.Equal(t, 50, outcome.Held, name)
		require.Equal(t, 4, outcome.Goroutines, name)
		require.Positive(t, outcome.Elapsed, name)

		took, err := crew.Relay(name, name+" relay", 3)
		require.NoError(t, err, name)
		require.Len(t, took, 5, name) // The first of the six comes from nobody.
		for _, d := range took {
			require.Positive(t, d, name)
		}
	}
	_, err := crew.Contend("nobody", bench.Contest{Key: "key", Goroutines: 1, Until: crew.Visits() + 1})
	require.ErrorContains(t, err, "nobody")
}

func TestWaitCountsBothSidesOfTheRelease(t *testing.T) {
	t.Parallel()
	addr := redistest.Start(t).Addr()
	for _, name := range reliable() {
		queue, err := bench.Wait(t.Context(), name, addr, 3, 100*time.Millisecond)
		require.NoError(t, err, name)
		require.GreaterOrEqual(t, queue.Before.Requests(), 3, name) // Each has asked.
		require.GreaterOrEqual(t, queue.After.Requests(), 6, name)  // Each had it and gave it back.
	}
}
