package locktest

import (
	"context"
	"fmt"
	"time"

	"github.com/semel-go/semel/lock"
)

// lockerFairnessLaws are about several processes that want one key. Who has to
// poll finds it free by luck alone.
func lockerFairnessLaws() []law {
	return []law{{
		name:  "LockerIsFairToOtherProcesses",
		why:   "a process that hands its key on to itself for as long as it likes starves all others",
		needs: []ability{waiting},
		test:  func(p *probe) { p.sharesWith(p.backend) },
	}, {
		name:  "LockerIsFairToFartherProcesses",
		why:   "who has given its key back for another's sake is there first if it asks at once, each time, when the other's way to the store is longer",
		needs: []ability{waiting},
		test:  func(p *probe) { p.sharesWith(far{p.backend, p.backend.(lock.Waiter)}) },
	}}
}

// far is a backend that requests take a while to get to.
type far struct {
	lock.Backend
	lock.Waiter
}

// Acquire implements [lock.Backend].
func (f far) Acquire(ctx context.Context, req lock.Request) (lock.Grant, error) {
	time.Sleep(2 * time.Millisecond)
	return f.Backend.Acquire(ctx, req)
}

// sharesWith insists that a process with b gets a key that the callers of
// another, which is never out of them, want as well.
func (p *probe) sharesWith(b lock.Backend) {
	p.Helper()
	busy, other := p.locker(p.backend, lock.Options{}), p.locker(b, lock.Options{})
	ctx, stop := context.WithCancel(p.Context())
	defer stop()
	done := make(chan error, 4)
	for range cap(done) {
		go func() {
			for ctx.Err() == nil {
				err := busy.Do(ctx, "key", func(context.Context) error {
					time.Sleep(time.Millisecond)
					return nil
				})
				if err != nil && ctx.Err() == nil {
					done <- fmt.Errorf("Do returned %w", err)
					return
				}
			}
			done <- nil
		}()
	}
	var failed error
	for range 3 {
		time.Sleep(10 * time.Millisecond)
		lease, err := other.Acquire(p.ctx(), "key")
		if err != nil {
			failed = fmt.Errorf("Acquire beside a busy process returned %w", err)
			break
		}
		if err := lease.Release(p.ctx()); err != nil {
			failed = fmt.Errorf("Release beside a busy process returned %w", err)
			break
		}
	}
	stop()
	for range cap(done) {
		if err := await(p, done, "the end of a busy caller"); failed == nil {
			failed = err
		}
	}
	if failed != nil {
		p.Fatal(failed)
	}
}
