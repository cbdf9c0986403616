package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/semel-go/semel/lock"
)

func lockerJobLaws() []law {
	return []law{{
		name: "LockerTryDoTellsApart",
		why:  "a scheduler must tell a job that ran from one that another worker has, and both from one that could not be asked for",
		test: func(p *probe) {
			f := newFaulty(p.backend)
			l, other := p.locker(f, lock.Options{}), p.locker(p.backend, lock.Options{})
			ran := 0
			job := func(context.Context) error { ran++; return nil }

			did, err := l.TryDo(p.ctx(), "job", job)
			if !did || err != nil || ran != 1 {
				p.Fatalf("TryDo of a job that nobody runs returned (%t, %v) and ran it %d times", did, err, ran)
			}
			lease := p.leaseOn(other, "job")
			for name, l := range map[string]*lock.Locker{"the holder's process": other, "another process": l} {
				if did, err = l.TryDo(p.ctx(), "job", job); did || err != nil || ran != 1 {
					p.Fatalf("TryDo in %s of a job that runs returned (%t, %v)", name, did, err)
				}
			}
			p.released(lease)
			f.fail(losesRequest)
			if did, err = l.TryDo(p.ctx(), "job", job); did || !errors.Is(err, lock.ErrUnavailable) || ran != 1 {
				p.Fatalf("TryDo when the store does not answer returned (%t, %v)", did, err)
			}
			f.mend()
			failure := errors.New("locktest: the job failed")
			did, err = l.TryDo(p.ctx(), "job", func(context.Context) error { return failure })
			if !did || !errors.Is(err, failure) {
				p.Fatalf("TryDo of a job that fails returned (%t, %v)", did, err)
			}
		},
	}, {
		name: "LockerSlotRunsOnce",
		why:  "a job runs once in its slot, on the first worker that comes; a run that failed does not count",
		test: func(p *probe) {
			one, other := p.locker(p.backend, lock.Options{TTL: p.ttl()}), p.locker(p.backend, lock.Options{TTL: p.ttl()})
			start := time.Now()
			slot := lock.Slot{Job: "job", Start: start, End: start.Add(time.Hour)}
			failure := errors.New("locktest: the job failed")
			ran, err := one.TryDoSlot(p.ctx(), slot, func(context.Context) error { return failure })
			if !ran || !errors.Is(err, failure) {
				p.Fatalf("TryDoSlot of a job that fails returned (%t, %v)", ran, err)
			}
			ran, err = other.TryDoSlot(p.ctx(), slot, nothing)
			if !ran || err != nil {
				p.Fatalf("TryDoSlot after a run that failed returned (%t, %v), want it to run", ran, err)
			}
			insist := func(when string) {
				p.Helper()
				for _, l := range []*lock.Locker{one, other} {
					ran, err := l.TryDoSlot(p.ctx(), slot, func(context.Context) error {
						p.Errorf("a job ran a second time in its slot %s", when)
						return nil
					})
					if ran || err != nil {
						p.Fatalf("TryDoSlot %s returned (%t, %v), want it to skip", when, ran, err)
					}
				}
			}
			insist("at once")
			p.outlast(p.ttl())
			insist("after the TTL of the lease was over")
			next := lock.Slot{Job: "job", Start: slot.End, End: slot.End.Add(time.Hour)}
			ran, err = one.TryDoSlot(p.ctx(), next, nothing)
			if !ran || err != nil {
				p.Fatalf("TryDoSlot of the next slot returned (%t, %v), want it to run", ran, err)
			}
		},
	}}
}
