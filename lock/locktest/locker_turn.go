package locktest

import (
	"context"
	"time"

	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/observe"
)

func lockerTurnLaws() []law {
	return []law{{
		name: "LockerStaleLeaseIsPowerless",
		why:  "leases that follow each other inside a process share a nonce in the store: what a former one does must not reach the present one",
		test: func(p *probe) {
			d := &diary{}
			l := p.locker(p.backend, lock.Options{Observer: d})
			former, present := p.handedOver(l, l, d)
			p.must(former.Release(p.ctx()), "a second Release of a lease that was handed on")
			p.fails(former.Extend(p.ctx(), long), lock.ErrLost, "Extend of a lease that was handed on")
			if former.Valid() || former.Remaining() != 0 {
				p.Fatal("a lease that was handed on says that it is valid")
			}
			p.endsWith(former.Context(), lock.ErrReleased, "the context of a lease that was handed on")
			if !present.Valid() || present.Context().Err() != nil {
				p.Fatal("what a former lease did has ended the present one")
			}
			p.takenFromAll("key")
			p.released(present)
			p.freeForAll("key")
		},
	}, {
		name: "LockerHandsOnRealOwnership",
		why:  "who is handed the key is its owner in the store: it can extend it, and giving it back frees it",
		test: func(p *probe) {
			d := &diary{}
			l := p.locker(p.backend, lock.Options{Observer: d})
			former, present := p.handedOver(l, l, d)
			if present.Fence() <= former.Fence() && p.features.Fencing {
				p.Fatalf("the fence %d was handed on after %d", present.Fence(), former.Fence())
			}
			p.must(present.Extend(p.ctx(), 2*long), "Extend of a lease that was handed on to")
			if present.Remaining() <= long {
				p.Fatalf("a lease extended by %v has %v left", 2*long, present.Remaining())
			}
			p.takenFromAll("key")
			p.released(present)
			p.must(present.Release(p.ctx()), "a second Release")
			p.freeForAll("key")
		},
	}, {
		name: "LockerTTLSurvivesHandOver",
		why:  "a caller that asked for a long TTL must not get what is left of a short one",
		test: func(p *probe) {
			l := p.locker(p.backend, lock.Options{TTL: long})
			longer := l.With(lock.Options{TTL: 2 * long})
			lease := p.leaseOn(l, "key")
			waiting := p.acquireSoon(p.ctx(), longer, "key")
			time.Sleep(20 * time.Millisecond) // most often it waits by now
			p.released(lease)
			got := await(p, waiting, "the key that was given back")
			p.must(got.err, "Acquire of a key that was given back")
			if left := got.lease.Remaining(); left <= long {
				p.Fatalf("a caller that asked for a TTL of %v was given a lease with %v left", 2*long, left)
			}
			p.released(got.lease)
		},
	}, {
		name: "LockerOptionsSurviveHandOver",
		why:  "a caller's own observer is told what becomes of the caller's lease, whoever had the key before",
		test: func(p *probe) {
			one, two := &diary{}, &diary{}
			l := p.locker(p.backend, lock.Options{Observer: one})
			_, present := p.handedOver(l, l.With(lock.Options{Observer: two}), one)
			before := len(two.of(observe.Released))
			p.released(present)
			if len(two.of(observe.Released)) != before+1 {
				p.Fatal("the observer of a caller was not told that its lease was released")
			}
		},
	}, {
		name: "LockerNoTurnAfterRelease",
		why:  "once a release was sent the key may be free, whatever its answer: handing it on after that makes two owners",
		test: lockerNoTurnAfterRelease,
	}}
}

// handedOver returns a lease on "key" and the one that it was handed over to.
func (p *probe) handedOver(from, to *lock.Locker, d *diary) (former, present *lock.Lease) {
	p.Helper()
	for attempt := range 6 {
		former = p.leaseOn(from, "key")
		before := len(d.of(observe.HandedOver))
		waiting := p.acquireSoon(p.ctx(), to, "key")
		time.Sleep(20 * time.Millisecond << attempt) // until it waits, most often
		p.released(former)
		got := await(p, waiting, "the key that was given back")
		p.must(got.err, "Acquire of a key that was given back")
		if len(d.of(observe.HandedOver)) > before {
			return former, got.lease
		}
		p.released(got.lease)
	}
	p.Skip("the Locker does not hand keys over on this backend")
	return nil, nil
}

// lockerNoTurnAfterRelease lets the release of a lease that has fences to spare
// reach the store, and loses its answer while a caller of the same process comes
// to wait for the key.
func lockerNoTurnAfterRelease(p *probe) {
	f, d := newFaulty(p.backend), &diary{}
	l := p.locker(f, lock.Options{Wait: 4 * patience, Observer: d})
	_, lease := p.handedOver(l, l, d)
	acted, lost := make(chan struct{}), make(chan struct{})
	f.failing(releasing, func(ctx context.Context, c call) error {
		_ = c.do(ctx)
		f.mend()
		close(acted)
		<-lost
		return errReplyLost
	})
	released := make(chan error, 1)
	go func() { released <- lease.Release(p.ctx()) }()
	await(p, acted, "the release's arrival")
	stranger := p.nonce()
	p.take("key", stranger, long) // the key was free, and is another's now
	waiting := p.acquireSoon(p.ctx(), l, "key")
	time.Sleep(10 * time.Millisecond) // most often it waits by now
	close(lost)
	p.fails(await(p, released, "the end of a Release"), lock.ErrUnavailable, "a Release that was not answered")
	_ = lease.Release(p.ctx())
	select {
	case got := <-waiting:
		p.must(got.err, "Acquire of a key that is held")
		p.Fatalf("a key that was given back and taken by a stranger was handed on, with fence %d", got.lease.Fence())
	case <-time.After(100 * time.Millisecond):
	}
	p.give("key", stranger)
	got := await(p, waiting, "the key that the stranger gave back")
	p.must(got.err, "Acquire of a key that was given back")
	p.takenFromAll("key")
	p.released(got.lease)
}
