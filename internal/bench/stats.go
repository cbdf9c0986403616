package bench

import (
	"cmp"
	"slices"
)

// Mean returns the mean of some numbers, 0 of none.
func Mean[T ~int64 | ~float64](values []T) float64 {
	if len(values) == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range values {
		sum += float64(v)
	}
	return sum / float64(len(values))
}

// Quantile returns the smallest of the values that is not below the share q of
// them, 0 < q <= 1, or 0 if there are none.
func Quantile[T cmp.Ordered](values []T, q float64) T {
	var zero T
	if len(values) == 0 {
		return zero
	}
	sorted := slices.Sorted(slices.Values(values))
	i := int(q*float64(len(sorted))+0.999999) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}

// Median returns the middle one of the values.
func Median[T cmp.Ordered](values []T) T { return Quantile(values, 0.5) }

// Ratios divides pairwise: what was measured side by side is compared with
// each other, so that a slow minute of the machine spoils both.
func Ratios(over, under []float64) []float64 {
	ratios := make([]float64, 0, len(over))
	for i := range min(len(over), len(under)) {
		if under[i] > 0 {
			ratios = append(ratios, over[i]/under[i])
		}
	}
	return ratios
}
