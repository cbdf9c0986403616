package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/semel-go/semel/internal/keeper"
	"github.com/semel-go/semel/internal/line"
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
	line.Waiter
	ctx     context.Context
	o       *Options // with its defaults
	terms   terms
	core    *core
	key     string
	began   time.Time
	ahead   int        // callers of this process that stood before it when it came
	told    bool       // the observer knows that it was refused
	tries   int        // asks in a row without news
	held    *HeldError // the last clear refusal
	heldTo  time.Time  // until when it tells anything
	trouble error      // why the last ask was not answered; nil if it was
	unclear int        // asks in a row that were not answered
	resume  time.Time  // when to ask again after one that was not
	doubt   *ask       // the last ask, if it was not answered
	spare   *ask       // the first ask, not yet used
}

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
	var lease *Lease
	over := false
	defer func() {
		if !over { // an observer panicked: nobody else would give up its place
			a.giveUp(lease)
		}
	}()
	lease, err := a.run()
	if err != nil {
		over = true
		a.giveUp(nil)
		return nil, a.report(err)
	}
	a.Leave()
	l.tell(ctx, observe.Event{
		Kind: observe.Acquired, Key: key, Fence: lease.fence, Wait: time.Since(a.began), Ahead: a.ahead,
	})
	over = true
	return lease, nil
}

// giveUp takes a out of its line and gives back the lease that it got, or that
// was handed over when it had stopped waiting.
func (a *acquisition) giveUp(lease *Lease) {
	gift := a.Leave()
	if late, ok := gift.(*Lease); ok && lease == nil {
		lease = late
	}
	if lease != nil {
		a.core.keeper.Go(func() { _ = lease.Release(a.ctx) })
	}
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
	s := l.core.lines.Shard(key)
	s.Lock()
	defer s.Unlock()
	ln := s.Line(key)
	var a *acquisition
	if t.once || ln.Free() {
		// It will ask: one allocation for all of it.
		f := &struct {
			acquisition
			ask
		}{}
		a, f.acquisition.spare = &f.acquisition, &f.ask
	} else {
		a = &acquisition{}
	}
	a.Of, a.ctx, a.o, a.terms = a, ctx, &l.full, t
	a.core, a.key, a.began = l.core, key, time.Now()
	l.core.lines.Init(&a.Waiter, s, key, l.full.Wait)
	switch {
	case !t.once || ln.Free():
		a.ahead = ln.Join(&a.Waiter)
	case ln.Holder != nil:
		if left := ln.Holder.(*grant).Remaining(keeper.Now()); left > 0 {
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
		lease, asker := a.look()
		pause := line.Forever // only news can help
		switch {
		case lease != nil:
			if err := a.ctx.Err(); err != nil {
				return nil, err // acquire gives the lease back
			}
			// The hand-over checked this; the caller may have woken late.
			if lease.Valid() {
				return lease, nil
			}
			a.Rejoin()
			continue
		case asker && a.doubt != nil:
			// It is undone before another is sent.
		case asker && time.Until(a.resume) > 0:
			pause = time.Until(a.resume) // no news hurries a store that is in trouble
		case asker:
			lease, err := a.ask()
			if err == nil || a.terms.once || !a.mayGoOn(err) {
				return lease, err
			}
			pause = a.pause()
		}
		if err := a.Sleep(a.ctx, pause); err != nil {
			if lease, _ := a.look(); lease != nil && err == line.ErrWaitOver && lease.Valid() {
				return lease, nil
			}
			return nil, err
		}
	}
}

// look reads what others have done for the acquisition since it slept: given
// it a lease, or made it the asker.
func (a *acquisition) look() (lease *Lease, asker bool) {
	gift, asker, news := a.Look()
	if news {
		a.tries = 0
	}
	if a.doubt != nil && a.doubt.undone.Load() {
		a.doubt = nil
	}
	lease, _ = gift.(*Lease)
	return lease, asker || a.terms.once
}

// mayGoOn reports whether it is worth while to wait after err.
func (a *acquisition) mayGoOn(err error) bool {
	return a.ctx.Err() == nil && (errors.Is(err, ErrNotAcquired) || errors.Is(err, ErrUnavailable))
}

// report tells the observer how the acquisition failed, and the caller in the
// terms of the API.
func (a *acquisition) report(err error) error {
	ctxErr := a.ctx.Err()
	cut := err == line.ErrWaitOver || ctxErr != nil && (err == ctxErr || errors.Is(err, ErrUnavailable))
	switch {
	case cut && a.trouble != nil && (a.held == nil || a.unclear > 1 || time.Now().After(a.heldTo)):
		// Never a clear answer, or none of late: unavailable is not contention.
		// Who was told "held for at most a second" a second ago does not know.
		if err = a.trouble; ctxErr != nil && !errors.Is(err, ctxErr) {
			err = unavailable("acquire", ctxErr)
		}
	case cut:
		held := &HeldError{Key: a.key, Cause: ctxErr}
		if a.held != nil {
			held.Remaining = a.held.Remaining
		}
		err = held
	case err == line.ErrClosed:
		err = ErrClosed
	case ctxErr != nil && err == error(a.held) && !a.terms.once:
		err = &HeldError{Key: a.key, Remaining: a.held.Remaining, Cause: ctxErr}
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
