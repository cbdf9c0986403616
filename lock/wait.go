package lock

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/semel-go/semel/observe"
)

const (
	// wakeJitter spreads the askers of many processes that wait for the same
	// expiry.
	wakeJitter = 20 * time.Millisecond
	// A backend that cannot tell, or has not told yet, is polled.
	pollFirst   = 5 * time.Millisecond
	pollDoubled = 6 // the longest pause is 5 ms << 6
	// So is one whose subscription does not come to stand, less often.
	unheardFirst = 100 * time.Millisecond
)

// ask sends one request to the store.
func (a *acquisition) ask() (*Lease, error) {
	x := a.spare
	if a.spare = nil; x == nil {
		x = &ask{}
	}
	timeout := a.o.Timeout
	if !a.terms.once {
		timeout = min(timeout, max(a.left(), timeout/10))
	}
	err := x.send(a, a.block(), timeout)
	a.trouble, a.doubt = nil, nil
	if err == nil {
		lease, ok := x.hold(a)
		if !ok {
			err = unavailable("acquire", errLate)
		} else if ctxErr := a.ctx.Err(); ctxErr != nil { // won too late
			if x.grant.Drop() {
				x.undo()
			}
			return nil, fmt.Errorf("lock: acquire: given back: %w", ctxErr)
		} else {
			a.install(&x.grant)
			return lease, nil
		}
	}
	if held, ok := err.(*HeldError); ok {
		a.held, a.unclear = held, 0
		if !a.told && !a.terms.once {
			a.told = true
			tell(a.ctx, a.o.Observer, observe.Event{Kind: observe.Contended, Key: a.key, Ahead: a.ahead})
		}
		return nil, err
	}
	a.trouble = err
	a.unclear++
	if !x.undone.Load() {
		a.doubt = x
	}
	return nil, err
}

// block returns how many fences to reserve: more than one if there are callers
// behind, to whom the key can then be handed over.
func (a *acquisition) block() uint64 {
	a.shard.Lock()
	defer a.shard.Unlock()
	if ln := a.shard.lines[a.key]; ln != nil && ln.queued > 0 && !a.terms.alone && a.o.MinHold == 0 {
		return cohort
	}
	return 1
}

// install makes g the holder of its line.
func (a *acquisition) install(g *grant) {
	a.shard.Lock()
	ln := a.shard.line(a.key)
	if ln.asker == &a.waiter {
		ln.asker = nil
	}
	ln.holder = g
	unwatch := a.shard.tidy(ln)
	a.shard.Unlock()
	if unwatch {
		a.core.news.unwatch(a.key)
	}
	if !g.Kept() { // lost before it stood in the line: its end passed unseen
		a.core.gone(g)
	}
}

// pause returns how long the asker waits for news before it asks again, and
// sees to it that news will come. A dead holder's key is free after what
// remains of its TTL, whether or not the store has noticed.
func (a *acquisition) pause() time.Duration {
	a.tries++
	if a.trouble != nil {
		return backoff(pollFirst, a.tries)
	}
	expiry := WaitForever
	if a.held.Remaining > 0 {
		expiry = a.held.Remaining + time.Millisecond + rand.N(wakeJitter)
	}
	if a.core.news.waiter == nil {
		return min(expiry, backoff(pollFirst, a.tries))
	}
	a.shard.Lock()
	ln := a.shard.line(a.key)
	watched, heard := ln.watched, ln.heard
	ln.watched = true
	a.shard.Unlock()
	if !watched {
		a.core.news.watch(a.key)
	}
	if !heard || expiry == WaitForever {
		return min(expiry, backoff(unheardFirst, a.tries))
	}
	return expiry
}

// backoff returns the pause before try n+1, jittered.
func backoff(base time.Duration, n int) time.Duration {
	d := base << min(n-1, pollDoubled)
	return d/2 + rand.N(d)
}

// bed is what a caller sleeps with.
type bed struct {
	timer *time.Timer
	wake  chan struct{}
}

func (c *core) newBed() *bed {
	if b, ok := c.beds.Get().(*bed); ok {
		return b
	}
	t := time.NewTimer(time.Hour)
	t.Stop()
	return &bed{timer: t, wake: make(chan struct{}, 1)}
}

// makeBed keeps b for another. Nobody may signal its owner any more.
func (c *core) makeBed(b *bed) {
	b.timer.Stop()
	select {
	case <-b.wake:
	default:
	}
	c.beds.Put(b)
}

// sleep waits for news, at most for d. The error is errWaitOver, the
// context's, or ErrClosed.
func (a *acquisition) sleep(d time.Duration) error {
	a.shard.Lock()
	if a.news {
		a.shard.Unlock()
		return nil
	}
	a.idle = true
	if a.bed == nil {
		a.bed = a.core.newBed()
		a.wake = a.bed.wake
	}
	a.shard.Unlock()
	left := a.left()
	if left <= 0 {
		return errWaitOver
	}
	if d = min(d, left); d != WaitForever {
		a.bed.timer.Reset(d)
		defer a.bed.timer.Stop()
	}
	select {
	case <-a.wake:
	case <-a.bed.timer.C:
		if d == left {
			return errWaitOver
		}
	case <-a.ctx.Done():
		return a.ctx.Err()
	case <-a.core.closing:
		return ErrClosed
	}
	return nil
}
