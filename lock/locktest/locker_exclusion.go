package locktest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/semel-go/semel/lock"
)

func lockerExclusionLaws() []law {
	return []law{{
		name: "LockerExcludes",
		why:  "whatever runs under a lock runs alone, among all callers of all processes, and one after the other",
		test: func(p *probe) {
			lockers := []*lock.Locker{
				p.locker(p.backend, lock.Options{}), p.locker(p.backend, lock.Options{}), p.locker(p.backend, lock.Options{}),
			}
			r := &register{p: p}
			var running sync.WaitGroup
			for i := range 24 {
				running.Go(func() {
					for range 10 {
						if err := lockers[i%len(lockers)].Do(p.ctx(), "key", r.write); err != nil {
							p.Errorf("Do returned %v", err)
							return
						}
					}
				})
			}
			running.Wait()
			if got := r.writes.Load(); got != 240 && !p.Failed() {
				p.Fatalf("%d of 240 writes took place", got)
			}
			p.freeForAll("key")
		},
	}, {
		name:  "LockerFencesRise",
		why:   "the fence of a lease is greater than all before it, also when the key is handed on inside a process, or the resource cannot tell old from new",
		needs: []ability{fencing},
		test: func(p *probe) {
			one, other := p.locker(p.backend, lock.Options{}), p.locker(p.backend, lock.Options{})
			// More turns than fences fit in a block, and another process that
			// comes in between.
			r := &register{p: p, fenced: true}
			var running sync.WaitGroup
			for i := range 17 {
				l := one
				if i == 0 {
					l = other
				}
				running.Go(func() {
					for range 20 {
						if err := l.Do(p.ctx(), "key", r.write); err != nil {
							p.Errorf("Do returned %v", err)
							return
						}
					}
				})
			}
			running.Wait()
			if last := p.take("key", p.nonce(), long).Fence; last <= r.last {
				p.Fatalf("the store granted the fence %d after %d had been handed on", last, r.last)
			}
		},
	}, {
		name: "LockerKeysAreApart",
		why:  "who holds one key keeps nobody from another",
		test: func(p *probe) {
			l := p.locker(p.backend, lock.Options{Wait: lock.NoWait})
			var leases []*lock.Lease
			for i := range 50 {
				leases = append(leases, p.leaseOn(l, fmt.Sprint("key", i)))
			}
			for i, lease := range leases {
				if want := fmt.Sprint("key", i); lease.Key() != want {
					p.Fatalf("a lease on %q says that its key is %q", want, lease.Key())
				}
				p.released(lease)
			}
		},
	}, {
		name: "LockerRefusesReentry",
		why:  "a caller that holds a key and waits for it waits for itself",
		test: func(p *probe) {
			l := p.locker(p.backend, lock.Options{})
			err := l.Do(p.ctx(), "key", func(ctx context.Context) error {
				derived, cancel := context.WithTimeout(ctx, time.Minute)
				defer cancel()
				if err := l.With(lock.Options{Wait: time.Minute}).Do(derived, "key", nothing); !errors.Is(err, lock.ErrReentrant) {
					return fmt.Errorf("Do inside of Do on the same key returned %w, want lock.ErrReentrant", err)
				}
				return l.Do(derived, "other", func(ctx context.Context) error {
					if _, err := l.Acquire(ctx, "key"); !errors.Is(err, lock.ErrReentrant) {
						return fmt.Errorf("Acquire two locks deeper returned %w, want lock.ErrReentrant", err)
					}
					return nil
				})
			})
			p.must(err, "Do")
			p.freeForAll("key")
		},
	}}
}

// nothing does nothing.
func nothing(context.Context) error { return nil }

// register is what callers write to under a lock. It sees when two do so at the
// same time, or in another order than that of their fences.
type register struct {
	p       *probe
	fenced  bool
	writers atomic.Int64
	writes  atomic.Int64
	last    uint64 // the race detector sees to it that the lock orders these
}

// write is a function for Do.
func (r *register) write(ctx context.Context) error {
	if n := r.writers.Add(1); n != 1 {
		r.p.Errorf("%d callers run under one lock", n)
	}
	defer r.writers.Add(-1)
	lease, ok := lock.LeaseFrom(ctx)
	if !ok {
		return errors.New("no lease in the context of Do")
	}
	if r.fenced {
		if lease.Fence() <= r.last {
			r.p.Errorf("the fence %d was given out after %d", lease.Fence(), r.last)
		}
		r.last = lease.Fence()
	}
	time.Sleep(100 * time.Microsecond)
	r.writes.Add(1)
	return ctx.Err()
}
