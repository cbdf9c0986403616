package keeper

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Op is one request to a store.
type Op interface {
	// Run makes the request. The context ends when nobody waits any more.
	Run(ctx context.Context)
	// Late is called after Run has returned if Do was not there to see it. It
	// runs on the Keeper's goroutine and may take its time.
	Late()
}

// Call is the context that a request gets and the state that its two sides
// share. Embed one in each Op: it must not be used twice.
type Call struct {
	// Bound makes Do keep the timeout even if the context cannot end.
	Bound bool

	parent   context.Context
	op       Op
	deadline time.Time
	worker   *worker // nil if the call runs where it was made
	event    event
	state    atomic.Int32

	mu   sync.Mutex
	done chan struct{}
	err  error
	stop func() bool // ends the watch on parent, if there is one
}

// The states of a Call. Whoever moves it away from running decides who sees
// the result: the one that waits, or Late.
const (
	running int32 = iota
	returned
	left
)

var closedChan = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Deadline returns the earlier of the call's own deadline and its parent's.
func (c *Call) Deadline() (time.Time, bool) {
	if d, ok := c.parent.Deadline(); ok && d.Before(c.deadline) {
		return d, true
	}
	return c.deadline, true
}

// Done is closed when nobody waits for the request any more.
func (c *Call) Done() <-chan struct{} {
	c.mu.Lock()
	done, first := c.done, false
	switch {
	case done != nil:
	case c.err != nil:
		done = closedChan
	default:
		done, first = make(chan struct{}), true
	}
	c.done = done
	c.mu.Unlock()
	if first && c.worker == nil && c.parent.Done() != nil {
		c.watch()
	}
	return done
}

// watch ends the call with its parent, which nobody beside the request does.
// One that never asks, as to a store in memory, does not pay for it.
func (c *Call) watch() {
	stop := context.AfterFunc(c.parent, func() { c.end(c.parent.Err()) })
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stop = stop
	if c.err != nil {
		stop()
	}
}

// Err says why.
func (c *Call) Err() error {
	c.mu.Lock()
	err := c.err
	c.mu.Unlock()
	if err == nil && c.worker == nil {
		if err = c.parent.Err(); err != nil {
			c.end(err)
		}
	}
	return err
}

// Value returns the value of the context given to Do.
func (c *Call) Value(key any) any { return c.parent.Value(key) }

// end ends the call's context, once.
func (c *Call) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = err
	if c.done != nil {
		close(c.done)
	}
	if c.stop != nil {
		c.stop()
	}
}

// expire ends the call because its time is up, and sends its waiter home.
func (c *Call) expire() {
	c.end(context.DeadlineExceeded)
	if c.worker != nil && c.state.CompareAndSwap(running, left) {
		c.worker.out <- false
	}
}

// Do runs op, for which call is its embedded Call, and waits until it has
// returned, ctx has ended, or timeout is over. It reports whether op has
// returned. If not, op's results must not be touched until its Late is called,
// which then happens exactly once, and call.Err says why. After Close nothing
// is run: ran is false.
//
// op runs on the caller's goroutine, and Do always sees it return, if the
// Keeper's requests are Interruptible, or if neither the context can end nor the
// call is Bound: handing a request to another goroutine and back costs about as
// much as half a round trip on a fast network. Then the client library's own
// timeouts bound it, with the deadline of the context that it gets.
func (k *Keeper) Do(ctx context.Context, timeout time.Duration, op Op, call *Call) (ran, finished bool) {
	call.parent, call.op = ctx, op
	call.deadline = time.Now().Add(timeout)
	call.event.call = call
	if k.cfg.Interruptible || ctx.Done() == nil && !call.Bound {
		return k.doHere(op, call)
	}
	w := k.worker()
	if w == nil {
		return false, true
	}
	call.worker = w
	if !k.begin(call) {
		k.park(w)
		return false, true
	}
	w.in <- call
	select {
	case finished = <-w.out:
	case <-ctx.Done():
		call.end(ctx.Err())
		if call.state.CompareAndSwap(running, left) {
			return true, false
		}
		finished = <-w.out
	}
	if finished {
		k.park(w)
		k.finish(call)
	}
	return true, finished
}

// doHere is Do on the caller's goroutine.
func (k *Keeper) doHere(op Op, call *Call) (ran, finished bool) {
	if !k.begin(call) {
		return false, true
	}
	op.Run(call)
	k.finish(call)
	return true, true
}
