package keeper

import "time"

// epoch is what the monotonic clock counts from.
var epoch = time.Now()

// Instant is a moment on two clocks at once: one that counts the time for
// which the machine was suspended, and Go's own. They are compared both, so
// that the later one decides: under testing/synctest only Go's clock moves,
// after a suspend only the other one has.
type Instant struct {
	boot int64 // nanoseconds of a clock that counts suspend
	mono int64 // nanoseconds of Go's monotonic clock
}

// Now returns the present.
func Now() Instant {
	return Instant{boot: bootNanos(), mono: int64(time.Since(epoch))}
}

// Elapsed returns the time that has passed since i: the greater of what the
// two clocks say.
func (i Instant) Elapsed() time.Duration { return Now().Sub(i) }

// Sub returns the time from j to i: the greater of what the two clocks say.
func (i Instant) Sub(j Instant) time.Duration {
	return time.Duration(max(i.boot-j.boot, i.mono-j.mono))
}

// add returns the instant d after i.
func (i Instant) add(d time.Duration) Instant {
	return Instant{boot: i.boot + int64(d), mono: i.mono + int64(d)}
}
