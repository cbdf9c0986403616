//go:build !linux

package keeper

import "time"

// bootNanos is the wall clock: it is the one clock of the standard library
// that counts suspend everywhere. When it is set back, Go's monotonic clock is
// the later one and decides; when it is set forward, leases end early.
func bootNanos() int64 { return time.Now().UnixNano() }
