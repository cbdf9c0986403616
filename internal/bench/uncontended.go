package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

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

// Pairs takes and gives back n locks that nobody else wants, from as many
// goroutines at once as the keys are for.
func Pairs(ctx context.Context, c Contender, keys Keys, n int) error {
	var next, done atomic.Int64
	return spread(ctx, c, keys, func() bool { return next.Add(1) <= int64(n) }, &done)
}

// Rate takes and gives back locks that nobody else wants, from as many
// goroutines at once as the keys are for, for that long. It returns how many
// pairs it made in a second, those before an error included.
func Rate(ctx context.Context, c Contender, keys Keys, d time.Duration) (float64, error) {
	var stop atomic.Bool
	timer := time.AfterFunc(d, func() { stop.Store(true) })
	defer timer.Stop()
	var pairs atomic.Int64
	start := time.Now()
	err := spread(ctx, c, keys, func() bool { return !stop.Load() }, &pairs)
	return float64(pairs.Load()) / time.Since(start).Seconds(), err
}

// spread makes pairs from several goroutines while more says so, and adds
// their number to done. A goroutine ends with its first error.
func spread(ctx context.Context, c Contender, keys Keys, more func() bool, done *atomic.Int64) error {
	errs := make([]error, len(keys))
	var all sync.WaitGroup
	for g, own := range keys {
		all.Go(func() {
			n := 0
			for ; more(); n++ {
				if errs[g] = c.Pair(ctx, own[n%len(own)]); errs[g] != nil {
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

// Alternate makes n pairs with each contender from one goroutine, one
// contender after the other with every pair, and returns how long each took.
// The one who begins changes from turn to turn.
func Alternate(ctx context.Context, contenders []Contender, n int) ([][]time.Duration, error) {
	took, keys := make([][]time.Duration, len(contenders)), NewKeys(len(contenders))
	for i := range took {
		took[i] = make([]time.Duration, 0, n)
	}
	for turn := range n {
		for i := range contenders {
			i = (i + turn) % len(contenders)
			start := time.Now()
			if err := contenders[i].Pair(ctx, keys[i][turn%keysPerGoroutine]); err != nil {
				return nil, err
			}
			took[i] = append(took[i], time.Since(start))
		}
	}
	return took, nil
}
