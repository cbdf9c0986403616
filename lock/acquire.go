package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/semel-go/semel/internal/keeper"
	"github.com/semel-go/semel/observe"
)

// terms are how one call wants its lease.
type terms struct {
	once  bool // do not wait
	tied  bool // the lease's context ends with the caller's
	alone bool // take no hand-over
}

// acquisition is one call of Acquire on its way to a lease.
type acquisition struct {
	waiter
	core    *core
	key     string
	shard   *shard
	began   time.Time
	bed     *bed
	ahead   int        // callers of this process that stood before it when it came
	told    bool       // the observer knows that it was refused
	tries   int        // asks in a row without news
	held    *HeldError // the last clear refusal
	trouble error      // why the last ask was not answered; nil if it was
	unclear int        // asks in a row that were not answered
	doubt   *ask       // the last ask, if it was not answered
	spare   *ask       // the first ask, not yet used
}

// errWaitOver is why an acquisition stops when Options.Wait is used up.
var errWaitOver = errors.New("wait is over")

func (l *Locker) acquire(ctx context.Context, key string, t terms) (*Lease, error) {
	if err := l.check(ctx, key); err != nil {
		return nil, err
	}
	if !l.core.keeper.Enter() {
		return nil, ErrClosed
	}
	defer l.core.keeper.Exit()
	t.once = t.once || l.full.Wait == NoWait
	a := l.enter(ctx, key, t)
	lease, err := a.run()
	a.leave()
	if err != nil {
		if late := a.lease; late != nil { // handed over when it had stopped waiting
			a.core.keeper.Go(func() { _ = late.Release(ctx) })
		}
		return nil, a.report(err)
	}
	l.tell(ctx, observe.Event{
		Kind: observe.Acquired, Key: key, Fence: lease.fence, Wait: time.Since(a.began), Ahead: a.ahead,
	})
	return lease, nil
}

// check refuses what need not be tried.
func (l *Locker) check(ctx context.Context, key string) error {
	switch {
	case l.bad != nil:
		return l.bad
	case key == "":
		return fmt.Errorf("%w: empty key", ErrInvalid)
	case ctx.Err() != nil:
		return fmt.Errorf("lock: acquire: nothing was sent: %w", ctx.Err())
	case l.core.closed.Load():
		return ErrClosed
	case l.core.holds(ctx, key):
		return ErrReentrant
	}
	return nil
}

// enter finds the caller's place in the key's line.
func (l *Locker) enter(ctx context.Context, key string, t terms) *acquisition {
	s := l.core.lines.shard(key)
	s.Lock()
	defer s.Unlock()
	ln := s.line(key)
	free := ln.free()
	var a *acquisition
	if free || t.once {
		// It will ask: one allocation for all of it.
		f := &struct {
			acquisition
			ask
		}{}
		a, f.acquisition.spare = &f.acquisition, &f.ask
	} else {
		a = &acquisition{}
	}
	a.ctx, a.o, a.terms = ctx, &l.full, t
	a.core, a.key, a.shard, a.began = l.core, key, s, time.Now()
	switch {
	case free:
		ln.asker = &a.waiter
	case !t.once:
		a.ahead = ln.queued + 1
		ln.push(&a.waiter)
	case ln.holder != nil:
		if left := ln.holder.Remaining(keeper.Now()); left > 0 {
			a.held = &HeldError{Key: key, Remaining: left} // by this process: no need to ask
		}
	}
	return a
}

// run brings the acquisition to its end.
func (a *acquisition) run() (*Lease, error) {
	if a.held != nil {
		return nil, a.held
	}
	for {
		pause := WaitForever // only news can help
		lease, asker := a.look()
		switch {
		case lease != nil:
			if lease, err := a.take(lease); lease != nil || err != nil {
				return lease, err
			}
			continue // lost before it was taken
		case asker && a.doubt == nil:
			lease, err := a.ask()
			if err == nil || a.terms.once || !a.mayGoOn(err) {
				return lease, err
			}
			pause = a.pause()
		}
		if err := a.sleep(pause); err != nil {
			if lease, _ := a.look(); lease != nil && errors.Is(err, errWaitOver) && lease.Valid() {
				return lease, nil
			}
			return nil, err
		}
	}
}

// look reads what others have done for the acquisition since it slept: given
// it a lease, or made it the asker.
func (a *acquisition) look() (lease *Lease, asker bool) {
	a.shard.Lock()
	defer a.shard.Unlock()
	if a.doubt != nil && a.doubt.undone.Load() {
		a.doubt = nil
	}
	if a.news {
		a.news, a.tries = false, 0
	}
	a.idle = false
	ln := a.shard.lines[a.key]
	return a.lease, a.terms.once || ln != nil && ln.asker == &a.waiter
}

// take makes a lease that was handed over the caller's own. It checks again
// what the hand-over had checked: the caller may have woken late.
func (a *acquisition) take(lease *Lease) (*Lease, error) {
	if err := a.ctx.Err(); err != nil {
		return nil, err // acquire gives the lease back
	}
	if lease.Valid() {
		return lease, nil
	}
	a.shard.Lock()
	defer a.shard.Unlock()
	a.lease = nil
	if ln := a.shard.line(a.key); ln.free() {
		ln.asker = &a.waiter
	} else {
		ln.push(&a.waiter)
	}
	return nil, nil
}

// leave takes the acquisition out of its line. Nothing is handed over to it
// any more.
func (a *acquisition) leave() {
	c := a.core
	a.shard.Lock()
	unwatch := false
	if ln := a.shard.lines[a.key]; ln != nil {
		ln.remove(&a.waiter)
		if ln.asker == &a.waiter {
			ln.asker = nil
			ln.promote()
		}
		unwatch = a.shard.tidy(ln)
	}
	if a.bed != nil {
		c.makeBed(a.bed)
		a.bed, a.wake = nil, nil
	}
	a.shard.Unlock()
	if unwatch {
		c.news.unwatch(a.key)
	}
}

// mayGoOn reports whether it is worth while to wait after err.
func (a *acquisition) mayGoOn(err error) bool {
	return a.ctx.Err() == nil && (errors.Is(err, ErrNotAcquired) || errors.Is(err, ErrUnavailable))
}

// report tells the observer how the acquisition failed, and the caller in the
// terms of the API.
func (a *acquisition) report(err error) error {
	ctxErr := a.ctx.Err()
	cut := err == errWaitOver || ctxErr != nil && (err == ctxErr || errors.Is(err, ErrUnavailable))
	switch {
	case cut && a.trouble != nil && (a.held == nil || a.unclear > 1):
		// Never a clear answer, or none of late: unavailable is not contention.
		if err = a.trouble; ctxErr != nil && !errors.Is(err, ctxErr) {
			err = unavailable("acquire", ctxErr)
		}
	case cut:
		held := &HeldError{Key: a.key, Cause: ctxErr}
		if a.held != nil {
			held.Remaining = a.held.Remaining
		}
		err = held
	}
	kind := observe.NotAcquired
	if errors.Is(err, ErrUnavailable) {
		kind = observe.Unavailable
	}
	tell(a.ctx, a.o.Observer, observe.Event{
		Kind: kind, Key: a.key, Wait: time.Since(a.began), Ahead: a.ahead, Err: err,
	})
	return err
}

// left returns how much of Options.Wait is left.
func (a *acquisition) left() time.Duration {
	if a.o.Wait == WaitForever {
		return WaitForever
	}
	return a.o.Wait - time.Since(a.began)
}
