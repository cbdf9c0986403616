package locktest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/observe"
)

func lockerWindowLaws() []law {
	return []law{{
		name: "LockerTrustsFromTheSend",
		why:  "the store may have begun to count when the request was sent: a window counted from its answer is open when the key is free",
		test: func(p *probe) {
			const delay = 150 * time.Millisecond
			f := newFaulty(p.backend)
			l := p.locker(f, lock.Options{
				TTL: time.Minute, Margin: time.Millisecond, Timeout: 10 * time.Second, NoRenew: true,
			})
			f.fail(answersLate(delay))
			lease := p.leaseOn(l, "key")
			if left := lease.Remaining(); left > time.Minute-delay {
				p.Fatalf("a lease of a minute whose grant took %v has %v left", delay, left)
			}
			p.must(lease.Extend(p.ctx(), time.Hour), "Extend")
			if left := lease.Remaining(); left > time.Hour-delay || left < time.Minute {
				p.Fatalf("a lease extended by an hour, which took %v, has %v left", delay, left)
			}
			if d := time.Until(lease.Deadline()); d > time.Hour-delay || d < time.Minute {
				p.Fatalf("the deadline of a lease extended by an hour, which took %v, is %v away", delay, d)
			}
			f.mend()
			p.released(lease)
		},
	}, {
		name:  "LockerTrustsRenewalsFromTheSend",
		why:   "a renewal is a request like any other: its answer may be late, and what it granted has been running since",
		needs: []ability{passing},
		test: func(p *probe) {
			const delay = 150 * time.Millisecond
			f, d := newFaulty(p.backend), &diary{}
			f.failing(extending, answersLate(delay))
			l := p.locker(f, lock.Options{TTL: p.ttl(), Observer: d})
			lease := p.leaseOn(l, "key")
			for began := time.Now(); len(d.of(observe.Renewed)) == 0; time.Sleep(time.Millisecond) {
				if time.Since(began) > patience {
					p.Fatalf("a lease of %v whose renewals take %v was not renewed in %v", p.ttl(), delay, patience)
				}
				if !lease.Valid() { // a slow machine
					_ = lease.Release(p.ctx())
					lease = p.leaseOn(l, "key")
				}
			}
			if left := lease.Remaining(); left > p.ttl()-delay {
				p.Fatalf("a lease of %v whose renewal took %v has %v left", p.ttl(), delay, left)
			}
			_ = lease.Release(p.ctx())
		},
	}, {
		name:  "LockerRenews",
		why:   "the TTL says how long a crash blocks others, not how long the work may take",
		needs: []ability{passing},
		test: func(p *probe) {
			l := p.locker(p.backend, lock.Options{})
			p.scaled(func(key string, ttl time.Duration) error { return p.lasts(l, key, ttl) })
		},
	}, {
		name:  "LockerRetriesRenewal",
		why:   "one lost answer is no reason to stop the work while the window is open",
		needs: []ability{passing},
		test: func(p *probe) {
			f := newFaulty(p.backend)
			var n atomic.Int64
			f.failing(extending, func(ctx context.Context, c call) error {
				if n.Add(1)%2 == 1 {
					return losesReply(ctx, c)
				}
				return c.do(ctx)
			})
			l := p.locker(f, lock.Options{})
			p.scaled(func(key string, ttl time.Duration) error { return p.lasts(l, key, ttl) })
		},
	}, {
		name:  "LockerEndsWhenCutOff",
		why:   "a holder that cannot renew must stop before the store frees its key, whatever the call that should renew it is doing",
		needs: []ability{passing},
		test:  lockerEndsWhenCutOff,
	}, {
		name:  "LockerEndsAtOnceWhenTaken",
		why:   "a holder that is told that the key is not its own any more must not go on until its window closes",
		needs: []ability{passing},
		test: func(p *probe) {
			f := newFaulty(p.backend)
			f.failing(extending, func(context.Context, call) error { return lock.ErrTaken })
			l := p.locker(f, lock.Options{})
			p.scaled(func(key string, ttl time.Duration) error {
				began := time.Now()
				lease := p.leaseOn(l.With(lock.Options{TTL: ttl}), key)
				<-lease.Context().Done()
				took, cause := time.Since(began), context.Cause(lease.Context())
				_ = lease.Release(p.ctx())
				if !errors.Is(cause, lock.ErrTaken) || took > ttl*4/5 {
					return fmt.Errorf("a lease of %v that was taken before its first renewal ended after %v with cause %w", ttl, took, cause)
				}
				return nil
			})
		},
	}, {
		name:  "LockerRenewsAgainAfterLoss",
		why:   "a lease that was lost must not keep the next one on the same key from being renewed",
		needs: []ability{passing},
		test: func(p *probe) {
			f := newFaulty(p.backend)
			l := p.locker(f, lock.Options{})
			p.scaled(func(key string, ttl time.Duration) error {
				f.failing(extending, func(context.Context, call) error { return lock.ErrExpired })
				lease := p.leaseOn(l.With(lock.Options{TTL: ttl}), key)
				p.endsWith(lease.Context(), lock.ErrLost, "the context of a lease that was lost")
				f.mend()
				_ = lease.Release(p.ctx())
				return p.lasts(l, key, ttl)
			})
		},
	}, {
		name:  "LockerTTLsAreTheirOwn",
		why:   "two leases of one process are each renewed by their own TTL: one must not shorten the other, nor keep a dead process's key for the other's time",
		needs: []ability{passing},
		test:  lockerTTLsAreTheirOwn,
	}, {
		name: "LockerExtendNeverShortens",
		why:  "a caller that makes sure of a minute must not lose the hour that another part of it made sure of",
		test: func(p *probe) {
			l := p.locker(p.backend, lock.Options{TTL: long, NoRenew: true})
			lease := p.leaseOn(l, "key")
			p.must(lease.Extend(p.ctx(), 4*long), "Extend")
			p.must(lease.Extend(p.ctx(), p.features.MinTTL), "Extend")
			if left := lease.Remaining(); left < 3*long {
				p.Fatalf("a lease extended by %v and then by less has %v left", 4*long, left)
			}
			p.fails(lease.Extend(p.ctx(), 0), lock.ErrInvalid, "Extend by 0")
			p.fails(lease.Extend(p.ctx(), lock.MaxTTL+1), lock.ErrInvalid, "Extend by more than MaxTTL")
			if !lease.Valid() {
				p.Fatal("an Extend that was refused has ended the lease")
			}
			p.released(lease)
		},
	}}
}

// lasts takes the key for ttl and holds it for longer, and returns what went
// wrong.
func (p *probe) lasts(l *lock.Locker, key string, ttl time.Duration) error {
	lease, err := l.With(lock.Options{TTL: ttl}).Acquire(p.ctx(), key)
	if err != nil {
		return fmt.Errorf("Acquire returned %w", err)
	}
	for began := time.Now(); time.Since(began) < ttl*3/2; time.Sleep(ttl / 20) {
		_, err := p.acquire(key, p.nonce(), long)
		if !lease.Valid() || lease.Context().Err() != nil {
			err = fmt.Errorf("a lease ended after %v: %w", time.Since(began), context.Cause(lease.Context()))
		} else if err == nil {
			err = fmt.Errorf("the key was granted to another after %v, while its lease was valid", time.Since(began))
		} else if errors.Is(err, lock.ErrNotAcquired) {
			continue
		}
		_ = lease.Release(p.ctx())
		return err
	}
	if err := lease.Release(p.ctx()); err != nil {
		return fmt.Errorf("Release returned %w", err)
	}
	return nil
}

// lockerEndsWhenCutOff cuts several Lockers off, each in another way.
func lockerEndsWhenCutOff(p *probe) {
	fault, free := stuck()
	type cutOff struct {
		how    string
		fault  func(context.Context, call) error
		locker *lock.Locker
		lease  *lock.Lease
		// asked is when the request for it came to the backend.
		asked time.Time
	}
	cuts := []*cutOff{
		{how: "fails", fault: losesRequest},
		{how: "hangs", fault: hangs},
		{how: "hangs beyond its context", fault: fault},
	}
	for _, c := range cuts {
		f := newFaulty(p.backend)
		f.fail(func(ctx context.Context, one call) error {
			switch one.method {
			case acquiring:
				c.asked = time.Now()
			case extending:
				return c.fault(ctx, one)
			}
			return one.do(ctx)
		})
		c.locker = p.locker(f, lock.Options{})
	}
	p.Cleanup(free) // before the Lockers are closed
	p.scaled(func(key string, ttl time.Duration) error {
		for _, c := range cuts {
			lease, err := c.locker.With(lock.Options{TTL: ttl}).TryAcquire(p.ctx(), key+" whose renewal "+c.how)
			if err != nil {
				return fmt.Errorf("TryAcquire returned %w", err)
			}
			c.lease = lease
		}
		var early error
		for _, c := range cuts {
			ctx := c.lease.Context()
			// Its own clock decides, however late its timers are.
			for c.lease.Valid() {
				if passed := time.Since(c.asked); passed >= ttl && c.lease.Valid() {
					p.Fatalf("a lease of %v is valid %v after it was asked for, when every renewal %s", ttl, passed, c.how)
				}
				select {
				case <-ctx.Done():
				case <-time.After(ttl / 50):
				}
			}
			if took := time.Since(c.asked); took < ttl/2 {
				early = fmt.Errorf("a lease of %v ended after %v, when every renewal %s", ttl, took, c.how)
			}
			p.endsWith(ctx, lock.ErrLost, "the context of a lease that could not be renewed")
			if c.lease.Remaining() != 0 {
				p.Fatalf("a lease that was lost has %v left", c.lease.Remaining())
			}
			p.fails(c.lease.Extend(p.ctx(), long), lock.ErrLost, "Extend of a lease that was lost")
			_ = c.lease.Release(p.ctx())
		}
		return early
	})
}

func lockerTTLsAreTheirOwn(p *probe) {
	f := newFaulty(p.backend)
	l := p.locker(f, lock.Options{})
	p.scaled(func(key string, ttl time.Duration) error {
		ttls := map[string]time.Duration{key + "short": ttl, key + "longer": 3 * ttl / 2, key + "long": long}
		leases := map[string]*lock.Lease{}
		for key, ttl := range ttls {
			leases[key] = p.leaseOn(l.With(lock.Options{TTL: ttl}), key)
		}
		time.Sleep(ttl * 5 / 4)
		var failed error
		for key, lease := range leases {
			if !lease.Valid() {
				failed = fmt.Errorf("the lease with a TTL of %v ended beside others: %w", ttls[key], context.Cause(lease.Context()))
			}
			_ = lease.Release(p.ctx())
		}
		renewed := map[string]int{}
		for _, c := range f.calls() {
			if c.method != extending || ttls[c.key] == 0 {
				continue
			}
			renewed[c.key]++
			if c.ttl != ttls[c.key] {
				p.Fatalf("a lease with a TTL of %v was renewed by %v", ttls[c.key], c.ttl)
			}
		}
		if failed == nil && (renewed[key+"short"] == 0 || renewed[key+"longer"] == 0) || renewed[key+"long"] > 0 {
			failed = fmt.Errorf("in five quarters of the short TTL the leases were renewed so often: %v", renewed)
		}
		return failed
	})
}
