package keeper

import (
	"errors"
	"math/rand/v2"
	"sync"
	"time"
)

// Doubt is a request that may have been granted without anybody knowing.
type Doubt interface {
	// Undo tries to undo it, once. Only nil means that it is undone.
	Undo() error
	// Life is the time after which the grant, if there is one, has expired.
	Life() time.Duration
	// Settled is called once, when nothing more is done about it: nil if it
	// was undone.
	Settled(err error)
}

// undoer undoes doubts in the background. It is one queue with few runners, so
// that an outage in which every request ends in doubt is not followed by a
// storm.
type undoer struct {
	k       *Keeper
	mu      sync.Mutex
	queue   []doubt
	runners int
}

type doubt struct {
	Doubt
	since Instant // when its request could no longer be sent
	err   error   // of the last try
}

// errWaited is the end of a doubt that expired while others were undone.
var errWaited = errors.New("expired before it could be undone")

const (
	maxUndoers  = 8
	undoPause   = 10 * time.Millisecond
	undoDoubled = 6 // the longest pause is 10 ms << 6
)

// Undo undoes d, whose request can no longer be sent, in the background. It
// tries until it is done, d's life is over, or the Keeper is closed.
func (k *Keeper) Undo(d Doubt) {
	u := &k.undoer
	u.mu.Lock()
	u.queue = append(u.queue, doubt{Doubt: d, since: Now(), err: errWaited})
	start := u.runners < maxUndoers
	if start {
		u.runners++
	}
	u.mu.Unlock()
	if start && !k.Go(u.run) {
		u.run() // closed: it will find that, too
	}
}

// UndoAfter is Undo for a request that can still be sent until settled is
// closed: what undoes it must come after it.
func (k *Keeper) UndoAfter(settled <-chan struct{}, d Doubt) {
	if !k.Go(func() { <-settled; k.Undo(d) }) {
		k.Undo(d)
	}
}

func (u *undoer) next() (d doubt, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.queue) == 0 {
		u.queue = nil
		u.runners--
		return doubt{}, false
	}
	d = u.queue[0]
	u.queue[0] = doubt{}
	u.queue = u.queue[1:]
	return d, true
}

// run undoes what is queued, and ends when the queue is empty.
func (u *undoer) run() {
	fails := 0
	for d, ok := u.next(); ok; d, ok = u.next() {
		// What has expired by itself is not tried any more: where one of many
		// servers is away, its doubts would keep those of the others waiting.
		if d.since.Elapsed() >= d.Life() {
			d.Settled(d.err)
			continue
		}
		d.err = d.Undo()
		if d.err == nil {
			fails = 0
		} else if d.since.Elapsed() < d.Life() && u.k.Pause(undoPause<<min(fails, undoDoubled)) {
			fails++
			u.mu.Lock()
			u.queue = append(u.queue, d)
			u.mu.Unlock()
			continue
		}
		d.Settled(d.err)
	}
}

// Pause waits for about d, from half of it to one and a half. It reports false
// at once when the Keeper is closed: who retries should stop.
func (k *Keeper) Pause(d time.Duration) bool {
	t := time.NewTimer(d/2 + rand.N(d))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-k.shut:
		return false
	}
}
