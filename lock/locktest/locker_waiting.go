package locktest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/observe"
)

func lockerWaitingLaws() []law {
	return []law{{
		name: "LockerWaitEnds",
		why:  "who waits in vain is told so in time, and that the key is held: not that the store is down, nor nothing at all",
		test: lockerWaitEnds,
	}, {
		name: "LockerWaiterGetsReleasedKey",
		why:  "who waits gets the key when it is given back, not when its TTL is over",
		test: func(p *probe) {
			one, other := p.locker(p.backend, lock.Options{}), p.locker(p.backend, lock.Options{})
			for range 5 {
				lease := p.leaseOn(one, "key")
				waiting := p.acquireSoon(p.ctx(), other, "key")
				time.Sleep(20 * time.Millisecond) // most often it waits by now
				p.released(lease)
				got := await(p, waiting, "the key that was given back")
				p.must(got.err, "Acquire of a key that was given back")
				p.released(got.lease)
			}
		},
	}, {
		name:  "LockerWaiterGetsDeadHoldersKey",
		why:   "a holder that died tells nobody: its key is free when its TTL is over, and who waits gets it then",
		needs: []ability{passing},
		test: func(p *probe) {
			l := p.locker(p.backend, lock.Options{})
			m := p.now()
			p.take("key", p.nonce(), p.ttl())
			lease := p.leaseOn(l, "key")
			if p.within(m, p.ttl()) {
				p.Fatal("a waiter got the key before the TTL of its holder was over")
			}
			p.released(lease)
		},
	}, {
		name: "LockerQueueIsInOrder",
		why:  "callers of one process get the key in the order in which they came: none is overtaken for ever",
		test: lockerQueueIsInOrder,
	}, {
		name: "LockerAbandonedWaitLeavesNothing",
		why:  "a caller that has gone must neither keep its place nor be handed the key",
		test: func(p *probe) {
			one, other := p.locker(p.backend, lock.Options{}), p.locker(p.backend, lock.Options{})
			for _, l := range []*lock.Locker{one, other} {
				lease := p.leaseOn(one, "key")
				var waits []<-chan acquired
				ctx, cancel := context.WithCancel(p.ctx())
				for range 5 {
					waits = append(waits, p.acquireSoon(ctx, l, "key"))
				}
				time.Sleep(20 * time.Millisecond) // most often they wait by now
				cancel()
				for _, wait := range waits {
					got := await(p, wait, "the end of an abandoned wait")
					if got.err == nil {
						p.Fatal("a caller whose context had ended was given a lease")
					}
					p.fails(got.err, context.Canceled, "an abandoned Acquire")
				}
				p.released(lease)
				p.freeForAll("key")
				p.released(p.leaseOn(l, "key"))
			}
		},
	}, {
		name: "LockerCancelledWaitersAreNotOwners",
		why:  "a lease that is granted at the moment its caller goes away is given back, or nobody holds the key and nobody gets it",
		test: lockerCancelledWaitersAreNotOwners,
	}}
}

// lockerCancelledWaitersAreNotOwners cancels waiters just when they are handed
// the key, just before, and about when the store grants it.
func lockerCancelledWaitersAreNotOwners(p *probe) {
	var cancel context.CancelFunc
	atHandOver := observe.Func(func(_ context.Context, e observe.Event) {
		if e.Kind == observe.HandedOver {
			cancel()
		}
	})
	one, other := p.locker(p.backend, lock.Options{}), p.locker(p.backend, lock.Options{})
	watched := one.With(lock.Options{Observer: atHandOver})
	for i := range 120 {
		holder, rival := one, one
		if i%2 == 0 {
			holder = watched
		}
		if i%3 == 0 { // one that waits in the store, so that nothing is handed over
			rival = other
		}
		lease := p.leaseOn(holder, "key")
		var ctx context.Context
		ctx, cancel = context.WithCancel(p.ctx())
		first, second := p.acquireSoon(ctx, one, "key"), p.acquireSoon(ctx, rival, "key")
		time.Sleep(time.Duration(i%5) * time.Millisecond)
		if i%4 == 1 {
			go cancel()
		}
		p.released(lease)
		cancel()
		for _, wait := range []<-chan acquired{first, second} {
			if got := await(p, wait, "the end of a wait"); got.err == nil {
				p.released(got.lease)
			}
		}
		p.released(p.leaseOn(other, "key"))
	}
	p.freeForAll("key")
}

func lockerWaitEnds(p *probe) {
	holder := p.locker(p.backend, lock.Options{})
	lease := p.leaseOn(holder, "key")
	defer p.released(lease)
	for name, l := range map[string]*lock.Locker{
		"the holder's process": holder, "another process": p.locker(p.backend, lock.Options{}),
	} {
		// A wait that ends before the store has answered once says nothing of
		// the key: then it is tried again with a longer one.
		insist := func(how string, acquire func(wait time.Duration) error) *lock.HeldError {
			p.Helper()
			wait := 50 * time.Millisecond
			err := acquire(wait)
			for errors.Is(err, lock.ErrUnavailable) && wait < patience/4 {
				wait *= 2
				err = acquire(wait)
			}
			held, ok := errors.AsType[*lock.HeldError](err)
			if !ok || !errors.Is(err, lock.ErrNotAcquired) || errors.Is(err, lock.ErrUnavailable) {
				p.Fatalf("%s in %s returned %v, want a *lock.HeldError alone", how, name, err)
			}
			return held
		}

		held := insist("Acquire", func(wait time.Duration) error {
			began := time.Now()
			_, err := l.With(lock.Options{Wait: wait}).Acquire(p.ctx(), "key")
			if waited := time.Since(began); waited < wait && !errors.Is(err, lock.ErrUnavailable) {
				p.Fatalf("Acquire in %s gave up after %v, want a wait of %v", name, waited, wait)
			}
			return err
		})
		if held.Cause != nil {
			p.Fatalf("Acquire in %s was ended by %v, and its context had not ended", name, held.Cause)
		}
		if name == "another process" && held.Remaining <= 0 {
			p.Fatal("Acquire in another process does not tell for how long the key is held")
		}
		insist("TryAcquire", func(time.Duration) error {
			_, err := l.TryAcquire(p.ctx(), "key")
			return err
		})
		forever := l.With(lock.Options{Wait: lock.WaitForever})
		held = insist("Acquire with a deadline", func(wait time.Duration) error {
			ctx, cancel := context.WithTimeout(p.ctx(), wait)
			defer cancel()
			_, err := forever.Acquire(ctx, "key")
			return err
		})
		p.fails(held, context.DeadlineExceeded, "Acquire with a deadline in "+name)
		held = insist("a cancelled Acquire", func(wait time.Duration) error {
			ctx, cancel := context.WithCancel(p.ctx())
			defer cancel()
			waiting := p.acquireSoon(ctx, forever, "key")
			time.Sleep(wait)
			cancel()
			return await(p, waiting, "the end of a wait that was cancelled").err
		})
		p.fails(held, context.Canceled, "a cancelled Acquire in "+name)
	}

	// The context may end just when the store refuses.
	f := newFaulty(p.backend)
	l := p.locker(f, lock.Options{})
	for range 30 {
		ctx, cancel := context.WithCancel(p.ctx())
		f.failing(acquiring, func(ctx context.Context, c call) error {
			err := c.do(ctx)
			cancel()
			return err
		})
		_, err := l.Acquire(ctx, "key")
		p.fails(err, context.Canceled, "Acquire whose context ends when it is refused")
		if !errors.Is(err, lock.ErrNotAcquired) && !errors.Is(err, lock.ErrUnavailable) {
			p.Fatalf("Acquire whose context ends when it is refused returned %v", err)
		}
	}
}

// lockerQueueIsInOrder compares the order in which callers came, which each of
// them learns as the number of callers ahead of it, with the order of fences.
func lockerQueueIsInOrder(p *probe) {
	const callers = 12
	l := p.locker(p.backend, lock.Options{})
	for attempt := range 6 {
		d := &diary{}
		watched := l.With(lock.Options{Observer: d})
		lease := p.leaseOn(l, "key")
		var waits []<-chan acquired
		for range callers {
			waits = append(waits, p.acquireSoon(p.ctx(), watched, "key"))
		}
		time.Sleep(20 * time.Millisecond << attempt) // until all wait, most often
		p.released(lease)
		// Whoever is served releases, and the next is served.
		done := make(chan error, callers)
		for _, wait := range waits {
			go func() {
				got := <-wait
				if got.err == nil {
					got.err = got.lease.Release(p.ctx())
				}
				done <- got.err
			}()
		}
		for range callers {
			p.must(await(p, done, "a caller's turn"), "a queued Acquire and its Release")
		}
		events := d.of(observe.Acquired)
		slices.SortFunc(events, func(x, y observe.Event) int { return x.Ahead - y.Ahead })
		all := len(events) == callers
		for i, e := range events {
			all = all && e.Ahead == events[0].Ahead+i
		}
		if !all {
			continue // some came after the release: a slow machine
		}
		for i := 1; i < callers; i++ {
			if events[i].Fence <= events[i-1].Fence && p.features.Fencing {
				p.Fatalf("a caller with %d ahead of it got the key before one with %d ahead", events[i].Ahead, events[i-1].Ahead)
			}
		}
		return
	}
	p.Fatalf("%d callers did not come to stand in one queue in any of several attempts", callers)
}
