package memstore

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// sweepStep is how many turns of a queue are dealt with before the shard
	// is unlocked for others.
	sweepStep = 128
	// sweepGap is the shortest time between two sweeps.
	sweepGap = 100 * time.Millisecond
	// idle is the instant of a sweep that is not to come.
	idle = math.MaxInt64
)

// sweeper gives back the memory of what has ended. It is one timer, which is
// set while something can end.
type sweeper struct {
	store *Store
	// next is the instant for which the timer is set. It is idle if there is
	// nothing to end, and while a sweep finds out what ends next.
	next atomic.Int64

	// mu guards timer, closed, and the setting of next. No shard is locked
	// while it is held.
	mu     sync.Mutex
	timer  *time.Timer
	closed bool

	// sweeping is held during a sweep, and busy is true.
	sweeping sync.Mutex
	busy     atomic.Bool
	// pending counts the timer, if it is set, and its calls under way.
	pending sync.WaitGroup
}

func (w *sweeper) init(s *Store) {
	w.store = s
	w.next.Store(idle)
}

// schedule sees to it that a sweep comes soon after the instant at. It may be
// called while a shard is locked.
func (w *sweeper) schedule(at int64) {
	// Who put the turn into its queue still has the shard locked. So if a
	// sweep has just begun, it has yet to come to that shard, and will find it.
	if at >= w.next.Load() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if at >= w.next.Load() || w.closed {
		return
	}
	w.next.Store(at)
	wait := max(time.Duration(at-w.store.now()), sweepGap)
	switch {
	case w.timer == nil:
		w.pending.Add(1)
		w.timer = time.AfterFunc(wait, w.run)
	case !w.timer.Reset(wait):
		w.pending.Add(1) // its last call has begun, and counts itself out
	}
}

// run is the timer's call.
func (w *sweeper) run() {
	defer w.pending.Done()
	w.sweep()
}

// sweep removes what has ended, shard by shard, and sets the timer for what
// ends next.
func (w *sweeper) sweep() {
	w.sweeping.Lock()
	defer w.sweeping.Unlock()
	w.busy.Store(true)
	defer w.busy.Store(false)
	w.mu.Lock()
	closed := w.closed
	w.next.Store(idle)
	w.mu.Unlock()
	if closed {
		return
	}
	next := int64(idle)
	for _, t := range w.store.tables() {
		for i := range t {
			next = min(next, t[i].sweep())
		}
	}
	w.schedule(next)
}

// close stops the timer and waits for its last call.
func (w *sweeper) close() {
	w.mu.Lock()
	w.closed = true
	if w.timer != nil && w.timer.Stop() {
		w.pending.Done()
	}
	w.mu.Unlock()
	w.pending.Wait()
}

// sweep removes the entries of the shard that have ended, and returns when the
// next one may.
func (sh *shard) sweep() (next int64) {
	for {
		next, more := sh.step()
		if !more {
			return next
		}
	}
}

// step is a bounded part of a sweep. It reports whether there is more to do,
// and if not, when there may be.
func (sh *shard) step() (next int64, more bool) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	now := sh.store.now()
	for range sweepStep {
		if len(sh.due) == 0 {
			return idle, false
		}
		if at := sh.due[0].at; at > now {
			return at, false
		}
		t := sh.due.pop()
		e := t.entry
		switch {
		case e.queued != t.at: // void
		case e.until <= now:
			sh.remove(e)
		default:
			e.queued = e.until
			sh.due.push(turn{e.until, e})
		}
	}
	return 0, true
}

// makeRoom removes something that has ended, if there is anything, without
// waiting for the timer. It reports whether there is room now.
func (s *Store) makeRoom() bool {
	// In this order: if next is what a sweep under way has been told, that
	// sweep is either seen here, or over, and has made what room there is.
	next, sweeping := s.sweeper.next.Load(), s.sweeper.busy.Load()
	if s.room() {
		return true
	}
	if !sweeping && s.now() < next {
		return false
	}
	for _, t := range s.tables() {
		for i := range t {
			if t[i].step(); s.room() {
				return true
			}
		}
	}
	return false
}

// room reports whether there is room for one more entry.
func (s *Store) room() bool {
	return s.entries.Load() < int64(s.limit.MaxEntries) && s.bytes.Load() <= s.limit.MaxBytes-entryBytes
}
