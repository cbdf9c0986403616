package lock

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/semel-go/semel/internal/keeper"
	"github.com/semel-go/semel/observe"
)

// undoer releases, in the background, what may have been acquired without
// anybody knowing. It is one queue with few runners, so that an outage in
// which every request ends in doubt is not followed by a storm.
type undoer struct {
	core    *core
	mu      sync.Mutex
	queue   []*ask
	runners int
}

const (
	maxUndoers  = 8
	undoPause   = 10 * time.Millisecond
	undoDoubled = 6 // the longest pause is 10 ms << 6
)

// add queues a, whose request can no longer be sent.
func (u *undoer) add(a *ask) {
	a.giveUp = keeper.Now()
	u.mu.Lock()
	u.queue = append(u.queue, a)
	start := u.runners < maxUndoers
	if start {
		u.runners++
	}
	u.mu.Unlock()
	if start && !u.core.keeper.Go(u.run) {
		u.run() // closed: run finds that, too
	}
}

func (u *undoer) next() *ask {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.queue) == 0 {
		u.queue = nil
		u.runners--
		return nil
	}
	a := u.queue[0]
	u.queue[0] = nil
	u.queue = u.queue[1:]
	return a
}

// run undoes what is queued, and ends when the queue is empty. What has not
// been undone when its key has expired anyway is given up.
func (u *undoer) run() {
	fails := 0
	for a := u.next(); a != nil; a = u.next() {
		err := u.undo(a)
		if err == nil {
			fails = 0
			a.settle()
			u.tell(a, observe.Compensated, nil)
			continue
		}
		if a.giveUp.Elapsed() >= a.req.TTL || !u.pause(fails) {
			a.settle()
			u.tell(a, observe.CompensationFailed, err)
			continue
		}
		fails++
		u.mu.Lock()
		u.queue = append(u.queue, a)
		u.mu.Unlock()
	}
}

// undo spends a's nonce. An answer that it owns nothing is as good as a yes.
func (u *undoer) undo(a *ask) error {
	r := &release{core: u.core, req: ReleaseRequest{
		Key: a.req.Key, Nonce: a.req.Nonce, TTL: a.req.TTL, Compensate: true,
	}}
	err := r.send(context.WithoutCancel(a.of.ctx), a.of.o.Timeout)
	if isLost(err) {
		return nil
	}
	return err
}

// pause waits before the next try. It reports false if the Locker is closed
// and no longer patient.
func (u *undoer) pause(fails int) bool {
	d := undoPause << min(fails, undoDoubled)
	t := time.NewTimer(d/2 + rand.N(d))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-u.core.keeper.Shut():
		return false
	}
}

func (u *undoer) tell(a *ask, kind observe.Kind, err error) {
	tell(context.WithoutCancel(a.of.ctx), a.of.o.Observer, observe.Event{Kind: kind, Key: a.req.Key, Err: err})
}
