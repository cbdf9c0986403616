package locktest

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/semel-go/semel/lock"
)

func lockerReleaseLaws() []law {
	return []law{{
		name: "LockerDoFreesHoweverItEnds",
		why:  "a function that fails, panics or ends its goroutine leaves the key free, so that the next try runs",
		test: lockerDoFreesHoweverItEnds,
	}, {
		name: "LockerReleaseNeedsNoContext",
		why:  "a caller whose client has hung up gives its key back all the same",
		test: func(p *probe) {
			f := newFaulty(p.backend)
			l := p.locker(f, lock.Options{})
			lease := p.leaseOn(l, "key")
			f.failing(releasing, func(ctx context.Context, c call) error {
				time.Sleep(5 * time.Millisecond)
				if err := ctx.Err(); err != nil {
					return err
				}
				return c.do(ctx)
			})
			dead, cancel := context.WithCancel(p.ctx())
			cancel()
			p.must(lease.Release(dead), "Release under a context that had ended")
			p.freeForAll("key")

			ctx, cancel := context.WithCancel(p.ctx())
			err := l.Do(ctx, "key", func(ctx context.Context) error {
				cancel()
				await(p, ctx.Done(), "the end of the context of Do")
				return ctx.Err()
			})
			p.fails(err, context.Canceled, "Do whose context ended")
			p.freeForAll("key")
		},
	}, {
		name: "LockerReleaseIsRepeatable",
		why:  "a release whose answer was lost is tried again: that the key is free by then is what was wanted",
		test: func(p *probe) {
			f := newFaulty(p.backend)
			l := p.locker(f, lock.Options{})
			lease := p.leaseOn(l, "key")
			f.failing(releasing, losesReply)
			err := lease.Release(p.ctx())
			p.fails(err, lock.ErrUnavailable, "a Release whose answer was lost")
			if errors.Is(err, lock.ErrLost) || lease.Valid() {
				p.Fatalf("a Release whose answer was lost returned %v and left the lease valid=%t", err, lease.Valid())
			}
			f.mend()
			// Another may have been and gone by the time of the second.
			a := p.nonce()
			p.take("key", a, long)
			p.give("key", a)
			p.must(lease.Release(p.ctx()), "the second Release")
			p.must(lease.Release(p.ctx()), "the third Release")
			p.freeForAll("key")
			p.must(lease.Release(p.ctx()), "a Release after another had the key")
		},
	}, {
		name: "LockerReleaseTellsLoss",
		why:  "who gives back a key that was taken from it long ago must learn that another may have run beside it",
		test: func(p *probe) {
			l := p.locker(p.backend, lock.Options{TTL: p.short, NoRenew: true})
			lease := p.leaseOn(l, "key")
			p.endsWith(lease.Context(), lock.ErrLost, "the context of a lease that ran out")
			p.outlast(p.short)
			a := p.nonce()
			p.take("key", a, long)
			err := lease.Release(p.ctx())
			p.fails(err, lock.ErrTaken, "Release of a lease that another has taken")
			p.fails(err, lock.ErrLost, "Release of a lease that another has taken")
			p.owns("key", a)
			p.give("key", a)
		},
	}, {
		name: "LockerDoTellsLoss",
		why:  "work that went on after its lease was lost may have met another's: its caller must know, also when it succeeded",
		test: func(p *probe) {
			l := p.locker(p.backend, lock.Options{TTL: p.short, NoRenew: true})
			a := p.nonce()
			err := l.Do(p.ctx(), "key", func(ctx context.Context) error {
				p.endsWith(ctx, lock.ErrLost, "the context of Do whose lease ran out")
				p.outlast(p.short)
				p.take("key", a, long)
				return nil
			})
			p.fails(err, lock.ErrLost, "Do whose lease ran out")
			p.owns("key", a)
		},
	}, {
		name: "LockerMinHoldKeeps",
		why:  "a job that ended at once keeps its key, so that a worker whose clock is behind does not run it again, and then frees it",
		test: func(p *probe) {
			hold := 2 * p.short
			one, other := p.locker(p.backend, lock.Options{MinHold: hold}), p.locker(p.backend, lock.Options{Wait: lock.NoWait})
			m := p.now()
			p.released(p.leaseOn(one, "key"))
			for _, l := range []*lock.Locker{one, other} {
				lease, err := l.TryAcquire(p.ctx(), "key")
				if err == nil && p.within(m, hold) {
					p.Fatalf("a key that is held for at least %v was granted before", hold)
				}
				if err == nil {
					_ = lease.Release(p.ctx()) // a slow machine: the time was over
				}
			}
			p.outlast(hold)
			p.outlast(hold) // if one of them has had it meanwhile
			p.released(p.leaseOn(other, "key"))
		},
	}}
}

func lockerDoFreesHoweverItEnds(p *probe) {
	l := p.locker(p.backend, lock.Options{})
	failure := errors.New("locktest: the function failed")
	ends := map[string]func() error{
		"success": func() error { return nil },
		"failure": func() error { return failure },
		"panic":   func() error { panic(failure) },
		"Goexit":  func() error { runtime.Goexit(); return nil },
	}
	type ended struct {
		err       error
		recovered any
		returned  bool
	}
	for name, end := range ends {
		for _, try := range []bool{false, true} {
			done := make(chan ended, 1)
			go func() {
				var e ended
				defer func() {
					e.recovered = recover()
					done <- e
				}()
				fn := func(context.Context) error { return end() }
				if try {
					_, e.err = l.TryDo(p.ctx(), "key", fn)
				} else {
					e.err = l.Do(p.ctx(), "key", fn)
				}
				e.returned = true
			}()
			e := await(p, done, "the end of Do")
			switch name {
			case "success", "failure":
				if !e.returned || name == "success" && e.err != nil || name == "failure" && !errors.Is(e.err, failure) {
					p.Fatalf("Do of a function that ended in %s returned %v", name, e.err)
				}
			case "panic":
				if e.recovered != failure {
					p.Fatalf("a panic in Do went on as %v", e.recovered)
				}
			case "Goexit":
				if e.returned || e.recovered != nil {
					p.Fatalf("runtime.Goexit in Do was stopped")
				}
			}
			p.freeForAll("key")
		}
	}
}
