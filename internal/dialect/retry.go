package dialect

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	// tries is how often a statement of our own is made at most. A statement
	// that touches one row loses to another's a few times in a row at most.
	tries = 12
	// firstPause is the longest pause before the second; each further one is
	// up to twice as long, up to lastPause.
	firstPause = 2 * time.Millisecond
	lastPause  = 64 * time.Millisecond
	// busyFor is how long a database that another writes is tried, if the
	// connection itself does not wait for it (SQLite's busy_timeout).
	busyFor = 5 * time.Second
)

// Retry runs f, a statement or a transaction of our own, again for as long as it
// returns an error that says that it had no effect and may succeed if repeated:
// [Serialization], and on SQLite also [LockNotAvailable], where any writer
// excludes every other. It gives up after some tries, or on SQLite some seconds,
// or when ctx ends, and returns f's last error. f is safe to run again from its
// beginning.
func (d Dialect) Retry(ctx context.Context, f func() error) error {
	start, pause := time.Now(), firstPause
	for n := 1; ; n++ {
		err := f()
		switch d.repeatable(err) {
		case Serialization:
			if n >= tries {
				return err
			}
		case LockNotAvailable:
			if time.Since(start) >= busyFor {
				return err
			}
		default:
			return err
		}
		timer := time.NewTimer(rand.N(pause))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
		pause = min(2*pause, lastPause)
	}
}

// repeatable returns err's class if f may be run again after it, else Other.
func (d Dialect) repeatable(err error) Class {
	class := d.Class(err)
	if class == Serialization || class == LockNotAvailable && d == SQLite {
		return class
	}
	return Other
}
