package bench_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/bench"
	"github.com/semel-go/semel/internal/redistest"
)

// openOnce opens a way to run once for the length of a test.
func openOnce(tb testing.TB, name string, s bench.Settings) bench.Once {
	tb.Helper()
	o, err := bench.OpenOnce(tb.Context(), name, s)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, o.Close()) })
	return o
}

// forgetful runs everything again.
type forgetful struct{}

func (forgetful) Run(ctx context.Context, _ string, fn func(context.Context) ([]byte, error)) ([]byte, error) {
	return fn(ctx)
}

func (forgetful) Close() error { return nil }

// lazy runs nothing.
type lazy struct{ forgetful }

func (lazy) Run(context.Context, string, func(context.Context) ([]byte, error)) ([]byte, error) {
	return []byte(bench.Answer), nil
}

func TestOnceSeesThoseWhoDoNot(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, bench.Duplicate(forgetful{})(t.Context(), "key"), "a duplicate was run")
	require.ErrorContains(t, bench.First(lazy{})(t.Context(), "key"), "a first run was none")
}

// Everyone must run once, or its numbers mean nothing.
func TestOnce(t *testing.T) {
	t.Parallel()
	addr := redistest.Start(t).Addr()
	for _, name := range bench.OnceNames() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := openOnce(t, name, bench.Settings{Addr: addr})
			failed := errors.New("failed")
			if name != bench.TwoCommands && name != bench.TwoCommandsAuto { // there the key is blocked for now
				_, err := o.Run(t.Context(), name+" fails", func(context.Context) ([]byte, error) { return nil, failed })
				require.ErrorIs(t, err, failed)
				result, err := o.Run(t.Context(), name+" fails", func(context.Context) ([]byte, error) { return []byte("1"), nil })
				require.NoError(t, err)
				require.Equal(t, "1", string(result))
			}
			_, err := o.Run(t.Context(), name+" twice", func(ctx context.Context) ([]byte, error) {
				return o.Run(context.WithoutCancel(t.Context()), name+" twice", func(context.Context) ([]byte, error) {
					return []byte("inner"), nil
				})
			})
			require.Error(t, err)

			keys := bench.NewKeys(8)
			require.NoError(t, bench.Repeat(t.Context(), bench.First(o), keys, 100))
			require.NoError(t, bench.Complete(t.Context(), o, keys))
			require.NoError(t, bench.Repeat(t.Context(), bench.Duplicate(o), keys, 1000))
		})
	}
}

func TestOnceTrips(t *testing.T) {
	t.Parallel()
	addr := redistest.Start(t).Addr()
	for _, c := range []struct {
		name             string
		first, duplicate float64
	}{
		{bench.TwoCommands, 2, 1},
		{bench.TwoCommandsAuto, 2, 1},
		{bench.HandWritten, 4, 1},
		{bench.HandWrittenAuto, 4, 1},
		{bench.Guard, 2, 1},
		{bench.GuardAuto, 2, 1},
		{bench.GuardAsync, 2, 1},
		{bench.GuardMemory, 0, 0},
		{bench.GuardCache, 2, 0},
	} {
		wire := bench.NewWire()
		o := openOnce(t, c.name, bench.Settings{Addr: addr, Wire: wire})
		keys := bench.NewKeys(1)
		first, err := bench.Measure(t.Context(), bench.First(o), keys, 100, wire)
		require.NoError(t, err, c.name)
		require.InDelta(t, c.first, first.Trips, 0.2, c.name)
		require.NoError(t, bench.Complete(t.Context(), o, keys), c.name)
		duplicate, err := bench.Measure(t.Context(), bench.Duplicate(o), keys, 100, wire)
		require.NoError(t, err, c.name)
		require.InDelta(t, c.duplicate, duplicate.Trips, 0.2, c.name)
	}
}

// BenchmarkOnce measures each way to run once, all on one server. An operation
// is a first run, or a duplicate's replay.
func BenchmarkOnce(b *testing.B) {
	addr := redistest.Start(b).Addr()
	for _, goroutines := range []int{1, 64, 512} {
		for _, name := range bench.OnRedis() {
			keys := bench.NewKeys(goroutines)
			measure := func(what string, op func(*testing.B, bench.Once) bench.Op) {
				b.Run(fmt.Sprintf("%s/goroutines=%d/%s", what, goroutines, name), func(b *testing.B) {
					o := op(b, openOnce(b, name, bench.Settings{Addr: addr}))
					b.ReportAllocs()
					b.ResetTimer()
					require.NoError(b, bench.Repeat(b.Context(), o, keys, b.N))
					b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
				})
			}
			measure("first", func(_ *testing.B, o bench.Once) bench.Op { return bench.First(o) })
			measure("duplicate", func(b *testing.B, o bench.Once) bench.Op {
				require.NoError(b, bench.Complete(b.Context(), o, keys))
				return bench.Duplicate(o)
			})
		}
	}
}
