package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Queue is what those who wait for one lock say to the server meanwhile.
type Queue struct {
	// Before is what all of them sent until the release, After from then on
	// until each had the lock once.
	Before, After Traffic
}

// queueKey is what a queue waits for.
const queueKey = "bench:queue"

// Wait lets so many contenders, each with its own locker and client as if it
// were a process of its own, wait for a key that yet another one holds for
// that long. Then each takes it once.
func Wait(ctx context.Context, name, addr string, waiters int, hold time.Duration) (queue Queue, err error) {
	ctx, cancel := context.WithTimeout(ctx, hold+patience)
	defer cancel()
	var open []Contender
	defer func() {
		for _, c := range open {
			err = errors.Join(err, c.Close())
		}
	}()
	wire := NewWire()
	for i := range waiters + 1 {
		settings := Settings{Addr: addr, Rivals: waiters + 1}
		if i > 0 {
			settings.Wire = wire
		}
		c, err := Open(ctx, name, settings)
		if err != nil {
			return Queue{}, err
		}
		open = append(open, c)
	}

	errs := make([]error, waiters+1)
	var all sync.WaitGroup
	start := wire.Traffic()
	var release Traffic
	errs[waiters] = open[0].Hold(ctx, queueKey, func() {
		for i, c := range open[1:] {
			all.Go(func() { errs[i] = c.Hold(ctx, queueKey, func() {}) })
		}
		time.Sleep(hold)
		release = wire.Traffic()
	})
	all.Wait()
	if err := firstOf(errs); err != nil {
		return Queue{}, fmt.Errorf("bench: wait in a queue: %w", err)
	}
	return Queue{release.Since(start), wire.Traffic().Since(release)}, nil
}
