package lock

import (
	"context"
	"hash/maphash"
	"sync"
)

// line is what one process knows of one key: who of it asks the store, who
// waits behind, and the grant it holds. A key has a line only while one of
// them is there.
//
// At most one caller is the asker: it alone asks the store, or waits for news
// from it. While this process holds the key there is none: those who wait are
// served by the holder's release, from memory.
type line struct {
	key    string
	asker  *waiter
	first  *waiter // the queue behind, oldest first
	last   *waiter
	queued int
	holder *grant
	// watched says that the listener was told to watch the key.
	watched bool
	// heard says that the listener has spoken of the key since.
	heard bool
}

// waiter is one caller of Acquire in a line.
type waiter struct {
	ctx        context.Context
	o          *Options // with its defaults
	terms      terms
	prev, next *waiter
	inQueue    bool
	idle       bool          // it is the asker, and no request of it is under way
	news       bool          // the key may be free, or the state below has changed
	lease      *Lease        // handed over to it
	wake       chan struct{} // of capacity 1; nil until it has to sleep
}

// signal wakes w. The line's shard is locked.
func (w *waiter) signal() {
	w.news = true
	if w.wake != nil {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// shards is how many locks the lines are spread over.
const shards = 32

// lines are the lines of a core, by key.
type lines struct {
	seed   maphash.Seed
	shards [shards]shard
}

// shard is a part of the lines, under one lock. The lock is never held across
// a call to the store or to an observer.
type shard struct {
	sync.Mutex
	lines map[string]*line
	spare *line // one, so that an uncontended key allocates none
}

func (ls *lines) init() {
	ls.seed = maphash.MakeSeed()
	for i := range ls.shards {
		ls.shards[i].lines = make(map[string]*line)
	}
}

func (ls *lines) shard(key string) *shard {
	return &ls.shards[maphash.String(ls.seed, key)%shards]
}

// line returns the line of key, making it if need be. The shard is locked.
func (s *shard) line(key string) *line {
	ln := s.lines[key]
	if ln == nil {
		if ln = s.spare; ln != nil {
			s.spare = nil
			ln.key = key
		} else {
			ln = &line{key: key}
		}
		s.lines[key] = ln
	}
	return ln
}

// tidy forgets a line that nobody needs. It reports whether the listener must
// be told that the key is no longer watched. The shard is locked.
func (s *shard) tidy(ln *line) (unwatch bool) {
	if ln.watched && ln.asker == nil && ln.queued == 0 {
		ln.watched, ln.heard, unwatch = false, false, true
	}
	if ln.asker == nil && ln.queued == 0 && ln.holder == nil && s.lines[ln.key] == ln {
		delete(s.lines, ln.key)
		*ln = line{}
		s.spare = ln
	}
	return unwatch
}

// push puts w at the end of the queue.
func (ln *line) push(w *waiter) {
	w.inQueue = true
	w.prev, w.next = ln.last, nil
	if ln.last != nil {
		ln.last.next = w
	} else {
		ln.first = w
	}
	ln.last = w
	ln.queued++
}

// remove takes w out of the queue, if it is in.
func (ln *line) remove(w *waiter) {
	if !w.inQueue {
		return
	}
	w.inQueue = false
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		ln.first = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	} else {
		ln.last = w.prev
	}
	w.prev, w.next = nil, nil
	ln.queued--
}

// promote makes the oldest in the queue the asker, if the key has neither an
// asker nor a holder.
func (ln *line) promote() {
	if ln.asker != nil || ln.holder != nil || ln.first == nil {
		return
	}
	w := ln.first
	ln.remove(w)
	ln.asker, w.idle = w, true
	w.signal()
}

// free reports whether a newcomer may become the asker.
func (ln *line) free() bool {
	return ln.asker == nil && ln.queued == 0 && ln.holder == nil
}

// heir returns who is next if the holder hands over: the asker if it is idle,
// else the oldest in the queue. While a request of the asker's is under way
// there is none: it stands before those in the queue, and may be granted the
// key itself.
func (ln *line) heir() *waiter {
	if ln.asker != nil {
		if ln.asker.idle {
			return ln.asker
		}
		return nil
	}
	return ln.first
}

// bequeath gives lease to w, which heir returned.
func (ln *line) bequeath(w *waiter, lease *Lease) {
	if ln.asker == w {
		ln.asker = nil
	} else {
		ln.remove(w)
	}
	w.lease = lease
	w.signal()
}
