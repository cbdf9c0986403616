package bench_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/bench"
)

func TestQuantile(t *testing.T) {
	t.Parallel()
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[len(hundred)-1-i] = time.Duration(i + 1)
	}
	require.Equal(t, time.Duration(50), bench.Median(hundred))
	require.Equal(t, time.Duration(99), bench.Quantile(hundred, 0.99))
	require.Equal(t, time.Duration(100), bench.Quantile(hundred, 1))
	require.Equal(t, time.Duration(1), bench.Quantile(hundred, 0.001))
	require.Equal(t, time.Duration(100), hundred[0], "the values keep their order")
	require.Equal(t, 2.0, bench.Median([]float64{3, 1, 2}))
	require.Zero(t, bench.Median([]float64(nil)))
}

func TestMean(t *testing.T) {
	t.Parallel()
	require.InDelta(t, 2.5, bench.Mean([]time.Duration{1, 4}), 1e-9)
	require.Zero(t, bench.Mean([]float64(nil)))
}

func TestRatiosArePaired(t *testing.T) {
	t.Parallel()
	require.Equal(t, []float64{2, 5}, bench.Ratios([]float64{4, 10, 3}, []float64{2, 2}))
	require.Empty(t, bench.Ratios([]float64{1}, []float64{0}))
}

func TestTrafficSince(t *testing.T) {
	t.Parallel()
	earlier := bench.Traffic{Commands: map[string]int{"EVALSHA": 2, "HELLO": 1}, Trips: 2}
	later := bench.Traffic{Commands: map[string]int{"EVALSHA": 5, "HELLO": 1, "SUBSCRIBE": 1, "PING": 4}, Trips: 6}
	since := later.Since(earlier)
	require.Equal(t, bench.Traffic{Commands: map[string]int{"EVALSHA": 3, "SUBSCRIBE": 1, "PING": 4}, Trips: 4}, since)
	require.Equal(t, 4, since.Work())
	require.Equal(t, 3, since.Requests())
}
