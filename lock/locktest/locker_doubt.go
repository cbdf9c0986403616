package locktest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/semel-go/semel/lock"
)

func lockerDoubtLaws() []law {
	return []law{{
		name: "LockerUnavailableIsNotContention",
		why:  "a store that cannot be asked says nothing about the key: its caller must neither wait for a holder nor take the key for free",
		test: lockerUnavailableIsNotContention,
	}, {
		name: "LockerDoesNotHammer",
		why:  "many callers wait for a store in trouble, or for a key that is held: each must pause between its asks",
		test: func(p *probe) {
			const wait, most = 500 * time.Millisecond, 100
			for name, fault := range map[string]func(context.Context, call) error{
				"the store fails":  losesRequest,
				"the key is held":  func(ctx context.Context, c call) error { return c.do(ctx) },
				"replies get lost": losesReply,
			} {
				f := newFaulty(p.backend)
				l := p.locker(f, lock.Options{Wait: wait})
				asks := atomic.Int64{}
				f.failing(acquiring, func(ctx context.Context, c call) error {
					if asks.Add(1) > most {
						return hangs(ctx, c) // it has been seen
					}
					return fault(ctx, c)
				})
				a := p.nonce()
				p.take("key", a, long)
				if _, err := l.Acquire(p.ctx(), "key"); err == nil {
					p.Fatal("Acquire of a key that another holds returned a lease")
				}
				p.give("key", a)
				if n := asks.Load(); n > most {
					p.Fatalf("a caller asked more than %d times in %v when %s", most, wait, name)
				}
			}
		},
	}, {
		name: "LockerKeepsDeadlines",
		why:  "a caller gets its answer in time, also from a client that ignores contexts",
		test: lockerKeepsDeadlines,
	}, {
		name: "LockerBadCallsSendNothing",
		why:  "what cannot succeed must not reach the store",
		test: func(p *probe) {
			f := newFaulty(p.backend)
			l := p.locker(f, lock.Options{})
			dead, cancel := context.WithCancel(p.ctx())
			cancel()
			_, err := l.Acquire(dead, "key")
			p.fails(err, context.Canceled, "Acquire under a context that had ended")
			_, err = l.TryAcquire(dead, "key")
			p.fails(err, context.Canceled, "TryAcquire under a context that had ended")
			_, err = l.Acquire(p.ctx(), "")
			p.fails(err, lock.ErrInvalid, "Acquire of the empty key")
			_, err = l.With(lock.Options{TTL: time.Microsecond}).Acquire(p.ctx(), "key")
			p.fails(err, lock.ErrInvalid, "Acquire with a TTL of a microsecond")
			_, err = l.With(lock.Options{TTL: time.Second, Margin: time.Second}).Acquire(p.ctx(), "key")
			p.fails(err, lock.ErrInvalid, "Acquire with a margin as long as the TTL")
			time.Sleep(20 * time.Millisecond) // what was sent has come by now
			if calls := f.calls(); len(calls) > 0 {
				p.Fatalf("calls that could not succeed sent %d requests, the first to %s", len(calls), calls[0].method)
			}
		},
	}, {
		name: "LockerUndoesUnansweredAcquire",
		why:  "an acquire that succeeded without its caller knowing is undone: the key must not stay with nobody until its TTL is over",
		test: lockerUndoesUnansweredAcquire,
	}, {
		name: "LockerUndoesLateAcquire",
		why:  "an acquire that reaches the store after its caller was told that it failed must not take the key",
		test: func(p *probe) {
			f := newFaulty(p.backend)
			l := p.locker(f, lock.Options{Timeout: 50 * time.Millisecond})
			for i := range 5 {
				key, sent := fmt.Sprint("key", i), make(chan error, 1)
				f.failing(acquiring, func(_ context.Context, c call) error {
					time.Sleep(100 * time.Millisecond)
					err := c.do(p.ctx())
					sent <- err
					return err
				})
				_, err := l.TryAcquire(p.ctx(), key)
				p.fails(err, lock.ErrUnavailable, "an Acquire that was not answered in time")
				_ = await(p, sent, "the late request")
				f.mend()
				p.soonFree(key)
			}
		},
	}, {
		name: "LockerSurvivesLostReplies",
		why:  "answers get lost and callers go away at any moment: there is never a second owner, and in the end no key that nobody owns",
		test: lockerSurvivesLostReplies,
	}}
}

func lockerUnavailableIsNotContention(p *probe) {
	f := newFaulty(p.backend)
	l := p.locker(f, lock.Options{Timeout: 50 * time.Millisecond, Wait: 120 * time.Millisecond})
	insist := func(err error, how string) {
		p.Helper()
		p.fails(err, lock.ErrUnavailable, how)
		if errors.Is(err, lock.ErrNotAcquired) {
			p.Fatalf("%s returned %v, which says that the key is held", how, err)
		}
	}
	for _, fault := range []func(context.Context, call) error{
		func(ctx context.Context, c call) error {
			time.Sleep(10 * time.Millisecond)
			return losesRequest(ctx, c)
		},
		hangs,
	} {
		f.failing(acquiring, fault)
		_, err := l.TryAcquire(p.ctx(), "key")
		insist(err, "TryAcquire when the store does not answer")
		_, err = l.Acquire(p.ctx(), "key")
		insist(err, "Acquire when the store does not answer")
		ran, err := l.TryDo(p.ctx(), "key", func(context.Context) error {
			p.Error("TryDo ran its function when the store did not answer")
			return nil
		})
		insist(err, "TryDo when the store does not answer")
		if ran {
			p.Fatal("TryDo said that it ran when the store did not answer")
		}
	}
	f.mend()
	p.soonFree("key")
}

func lockerKeepsDeadlines(p *probe) {
	f := newFaulty(p.backend)
	fault, free := stuck()
	l := p.locker(f, lock.Options{Timeout: 50 * time.Millisecond, Wait: lock.NoWait})
	p.Cleanup(free)
	lease := p.leaseOn(l, "held")
	f.fail(fault)
	done := make(chan error, 1)
	insist := func(how string, want error, fn func() error) {
		p.Helper()
		go func() { done <- fn() }()
		p.fails(await(p, done, "the end of "+how), want, how)
	}
	acquire := func(ctx context.Context, l *lock.Locker) func() error {
		return func() error {
			_, err := l.Acquire(ctx, "key")
			return err
		}
	}
	insist("Acquire on a client that is stuck", lock.ErrUnavailable, acquire(p.ctx(), l))
	patient := l.With(lock.Options{Timeout: 4 * patience, Wait: 4 * patience})
	ctx, cancel := context.WithTimeout(p.ctx(), 25*time.Millisecond)
	insist("Acquire with a deadline on a client that is stuck", context.DeadlineExceeded, acquire(ctx, patient))
	cancel()
	ctx, cancel = context.WithCancel(p.ctx())
	go func() {
		time.Sleep(25 * time.Millisecond)
		cancel()
	}()
	insist("Acquire on a client that is stuck, when it is cancelled", context.Canceled, acquire(ctx, patient))
	insist("Extend on a client that is stuck", lock.ErrUnavailable, func() error { return lease.Extend(p.ctx(), 2*long) })
	insist("Release on a client that is stuck", lock.ErrUnavailable, func() error { return lease.Release(p.ctx()) })
	free()
	f.mend()
	p.released(lease)
	p.freeForAll("held")
	p.soonFree("key")
}

func lockerUndoesUnansweredAcquire(p *probe) {
	f := newFaulty(p.backend)
	l := p.locker(f, lock.Options{Timeout: 50 * time.Millisecond})
	for name, fault := range map[string]func(context.Context, call) error{
		"is lost": losesReply,
		"is late": func(ctx context.Context, c call) error {
			err := c.do(p.ctx())
			time.Sleep(100 * time.Millisecond)
			return err
		},
	} {
		key := "key whose answer " + name
		f.failing(acquiring, fault)
		_, err := l.TryAcquire(p.ctx(), key)
		p.fails(err, lock.ErrUnavailable, "an Acquire whose answer "+name)
		f.mend()
		p.soonFree(key)

		// Who goes on asking must not be locked out by its own former ask.
		f.failing(acquiring, func(ctx context.Context, c call) error {
			f.mend()
			return fault(ctx, c)
		})
		lease, err := l.Acquire(p.ctx(), key+", and asks again")
		p.must(err, "an Acquire whose first answer "+name)
		p.released(lease)
	}
	// What undoes it may be lost as well.
	var undoing atomic.Int64
	f.fail(func(ctx context.Context, c call) error {
		switch {
		case c.method == acquiring:
			return losesReply(ctx, c)
		case c.compensate && undoing.Add(1) <= 3:
			return losesRequest(ctx, c)
		}
		return c.do(ctx)
	})
	_, err := l.TryAcquire(p.ctx(), "key")
	p.fails(err, lock.ErrUnavailable, "an Acquire whose answer is lost")
	p.soonFree("key")
}

// soonFree insists that the store grants the key to a stranger before long,
// and that nobody takes it after that.
func (p *probe) soonFree(key string) {
	p.Helper()
	a := p.soon(key)
	p.owns(key, a)
	p.give(key, a)
}

// soon returns a stranger's nonce that the store has granted the key to, before
// long.
func (p *probe) soon(key string) string {
	p.Helper()
	a := p.nonce()
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		_, err := p.acquire(key, a, long)
		if err == nil {
			return a
		}
		if !errors.Is(err, lock.ErrNotAcquired) || time.Since(began) > patience {
			p.Errorf("a key that nobody owns is refused to a stranger for %v: %v", time.Since(began), err)
			runtime.Goexit()
		}
	}
}

func lockerSurvivesLostReplies(p *probe) {
	const (
		lockers, callers, rounds = 3, 4, 12
		keys                     = 2
	)
	var owners [keys]atomic.Int64
	var all []*lock.Locker
	for i := range lockers {
		f := newFaulty(p.backend)
		chance := rand.New(rand.NewPCG(uint64(i), 42))
		var mu sync.Mutex
		f.fail(func(ctx context.Context, c call) error {
			mu.Lock()
			n := chance.IntN(16)
			mu.Unlock()
			switch n {
			case 0, 1, 2:
				return losesReply(ctx, c)
			case 3:
				return losesRequest(ctx, c)
			case 4:
				return answersLate(150*time.Millisecond)(p.ctx(), c)
			case 5:
				time.Sleep(150 * time.Millisecond)
				return c.do(p.ctx())
			}
			return c.do(ctx)
		})
		all = append(all, p.locker(f, lock.Options{Timeout: 100 * time.Millisecond, NoRenew: true}))
	}
	var running sync.WaitGroup
	for i := range lockers * callers {
		chance := rand.New(rand.NewPCG(uint64(i), 7))
		running.Go(func() {
			for range rounds {
				n := chance.IntN(keys)
				ctx, cancel := context.WithTimeout(p.ctx(), time.Duration(1+chance.IntN(250))*time.Millisecond)
				lease, err := all[i%lockers].Acquire(ctx, fmt.Sprint("key", n))
				cancel()
				if err != nil {
					continue
				}
				if got := owners[n].Add(1); got != 1 {
					p.Errorf("%d callers own one key", got)
				}
				time.Sleep(time.Millisecond)
				owners[n].Add(-1)
				for err = lease.Release(p.ctx()); errors.Is(err, lock.ErrUnavailable); err = lease.Release(p.ctx()) {
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
	running.Wait()
	for _, l := range all {
		ctx, cancel := context.WithTimeout(p.Context(), 3*patience)
		p.must(l.Close(ctx), "Close")
		cancel()
	}
	for n := range keys {
		p.freeForAll(fmt.Sprint("key", n))
	}
}
