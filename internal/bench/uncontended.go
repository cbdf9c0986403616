package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Op is one operation that is measured: a lock taken and given back, or
// something run once. It is safe for concurrent use.
type Op func(ctx context.Context, key string) error

// keysPerGoroutine is how many keys a goroutine takes in turn, so that no
// contender profits from always meeting the same one.
const keysPerGoroutine = 64

// Keys is what several goroutines take without meeting each other: each has
// some keys of its own, and goes round among them.
type Keys [][]string

// NewKeys returns keys, which nobody has used before, for so many goroutines.
// A contender that keeps something of a key after its release meets that again
// if it is measured again with the same keys, as it would in a program.
func NewKeys(goroutines int) Keys {
	tag := randomToken()
	keys := make(Keys, goroutines)
	for g := range keys {
		for k := range keysPerGoroutine {
			keys[g] = append(keys[g], fmt.Sprintf("bench:own:%s:%d:%d", tag, g, k))
		}
	}
	return keys
}

// Repeat does op n times, on keys that nobody else wants, from as many
// goroutines at once as the keys are for.
func Repeat(ctx context.Context, op Op, keys Keys, n int) error {
	var next, done atomic.Int64
	return spread(ctx, op, keys, func() bool { return next.Add(1) <= int64(n) }, &done)
}

// Rate does op on keys that nobody else wants, from as many goroutines at once
// as the keys are for, for that long. It returns how often it did in a second,
// those before an error included.
func Rate(ctx context.Context, op Op, keys Keys, d time.Duration) (float64, error) {
	var stop atomic.Bool
	timer := time.AfterFunc(d, func() { stop.Store(true) })
	defer timer.Stop()
	var done atomic.Int64
	start := time.Now()
	err := spread(ctx, op, keys, func() bool { return !stop.Load() }, &done)
	return float64(done.Load()) / time.Since(start).Seconds(), err
}

// spread does op from several goroutines while more says so, and adds to done
// how often. A goroutine ends with its first error.
func spread(ctx context.Context, op Op, keys Keys, more func() bool, done *atomic.Int64) error {
	errs := make([]error, len(keys))
	var all sync.WaitGroup
	for g, own := range keys {
		all.Go(func() {
			n := 0
			for ; more(); n++ {
				if errs[g] = op(ctx, own[n%len(own)]); errs[g] != nil {
					break
				}
			}
			done.Add(int64(n))
		})
	}
	all.Wait()
	return firstOf(errs)
}

// firstOf returns the first error, and says how many more there are.
func firstOf(errs []error) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}
	return fmt.Errorf("bench: %d errors like this one: %w", len(errs), errs[0])
}

// Alternate does each of ops n times from one goroutine, one after the other in
// every turn, and returns how long each took. The one that begins changes from
// turn to turn. keys has a row for each of ops.
func Alternate(ctx context.Context, ops []Op, keys Keys, n int) ([][]time.Duration, error) {
	took := make([][]time.Duration, len(ops))
	for i := range took {
		took[i] = make([]time.Duration, 0, n)
	}
	for turn := range n {
		for i := range ops {
			i = (i + turn) % len(ops)
			start := time.Now()
			if err := ops[i](ctx, keys[i][turn%keysPerGoroutine]); err != nil {
				return nil, err
			}
			took[i] = append(took[i], time.Since(start))
		}
	}
	return took, nil
}
