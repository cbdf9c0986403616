package line

import (
	"hash/maphash"
	"sync"
)

// shards is how many locks the lines are spread over.
const shards = 32

// Lines are the lines of one process for the keys of one store.
type Lines struct {
	seed    maphash.Seed
	shards  [shards]Shard
	news    news
	beds    sync.Pool // of *bed
	closing chan struct{}
	once    sync.Once
}

// New returns empty Lines. listen opens the listener that brings news; nil if
// the store cannot tell.
func New(listen func(notify func(key string)) Listener) *Lines {
	ls := &Lines{seed: maphash.MakeSeed(), closing: make(chan struct{})}
	for i := range ls.shards {
		ls.shards[i].lines = make(map[string]*Line)
	}
	ls.news.lines, ls.news.listen = ls, listen
	return ls
}

// Closing sends everybody home who waits.
func (ls *Lines) Closing() { ls.once.Do(func() { close(ls.closing) }) }

// Close closes the listener and waits for it.
func (ls *Lines) Close() {
	ls.Closing()
	ls.news.close()
}

// Shard returns the shard that key belongs to.
func (ls *Lines) Shard(key string) *Shard {
	return &ls.shards[maphash.String(ls.seed, key)%shards]
}

// Shard is a part of the lines, under one lock, which its user takes. The lock
// is never held across a call to the store or to an observer.
type Shard struct {
	sync.Mutex
	lines map[string]*Line
	spare *Line // one, so that an uncontended key allocates none
}

// Line is what one process knows of one key. It exists only while somebody is
// in it, and is guarded by the lock of its shard.
type Line struct {
	// Holder is what this process holds of the key, nil if nothing.
	Holder any
	// Queued is how many wait behind the asker or the holder.
	Queued int

	key         string
	asker       *Waiter
	first, last *Waiter
	watched     bool // the listener was told to watch the key
	heard       bool // it has spoken of the key since
}

// Find returns the line of key, or nil. The shard is locked.
func (s *Shard) Find(key string) *Line { return s.lines[key] }

// Line returns the line of key, making it if need be. The shard is locked.
func (s *Shard) Line(key string) *Line {
	ln := s.lines[key]
	if ln == nil {
		if ln = s.spare; ln != nil {
			s.spare = nil
		} else {
			ln = &Line{}
		}
		ln.key = key
		s.lines[key] = ln
	}
	return ln
}

// tidy forgets a line that nobody needs. It reports whether the listener must
// be told that the key is no longer watched. The shard is locked.
func (s *Shard) tidy(ln *Line) (unwatch bool) {
	if ln.asker != nil || ln.Queued > 0 {
		return false
	}
	unwatch = ln.watched
	ln.watched, ln.heard = false, false
	if ln.Holder == nil && s.lines[ln.key] == ln {
		delete(s.lines, ln.key)
		*ln = Line{}
		s.spare = ln
	}
	return unwatch
}

// Free reports whether a newcomer may ask at once.
func (ln *Line) Free() bool { return ln.asker == nil && ln.Queued == 0 && ln.Holder == nil }

// Join puts w into the line: as the asker if the line is free, else at the end
// of the queue. It returns how many stand before it.
func (ln *Line) Join(w *Waiter) (ahead int) {
	if ln.Free() {
		ln.asker = w
		return 0
	}
	ahead = ln.Queued
	if ln.asker != nil || ln.Holder != nil {
		ahead++
	}
	w.queued = true
	w.prev, w.next = ln.last, nil
	if ln.last != nil {
		ln.last.next = w
	} else {
		ln.first = w
	}
	ln.last = w
	ln.Queued++
	return ahead
}

// remove takes w out of the queue, if it is in.
func (ln *Line) remove(w *Waiter) {
	if !w.queued {
		return
	}
	w.queued = false
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
	ln.Queued--
}

// promote makes the oldest in the queue the asker, if the key has neither an
// asker nor a holder.
func (ln *Line) promote() {
	if ln.asker != nil || ln.Holder != nil || ln.first == nil {
		return
	}
	w := ln.first
	ln.remove(w)
	ln.asker, w.idle = w, true
	w.signal()
}

// Heir returns who is next if the holder hands over: the asker if it is idle,
// else the oldest in the queue. While a request of the asker's is under way
// there is none: it stands before those in the queue, and may be granted the
// key itself.
func (ln *Line) Heir() *Waiter {
	if ln.asker != nil {
		if ln.asker.idle {
			return ln.asker
		}
		return nil
	}
	return ln.first
}

// Give ends w's wait with gift and takes it out of the line.
func (ln *Line) Give(w *Waiter, gift any) {
	if ln.asker == w {
		ln.asker = nil
	} else {
		ln.remove(w)
	}
	w.gift = gift
	w.signal()
}

// Install makes holder the holder of w's key, and w no longer its asker.
func (ls *Lines) Install(w *Waiter, holder any) {
	w.shard.Lock()
	ln := w.shard.Line(w.key)
	if ln.asker == w {
		ln.asker = nil
	}
	ln.Holder = holder
	unwatch := w.shard.tidy(ln)
	w.shard.Unlock()
	if unwatch {
		ls.news.unwatch(w.key)
	}
}

// Vacate takes holder's place in the line of key away, if it is there, and
// lets the next caller ask.
func (ls *Lines) Vacate(key string, holder any) {
	s := ls.Shard(key)
	s.Lock()
	unwatch := false
	if ln := s.lines[key]; ln != nil && ln.Holder == holder {
		ln.Holder = nil
		ln.promote()
		unwatch = s.tidy(ln)
	}
	s.Unlock()
	if unwatch {
		ls.news.unwatch(key)
	}
}

// GiveAll ends the wait of everybody in the line of key with gift.
func (ls *Lines) GiveAll(key string, gift any) {
	s := ls.Shard(key)
	s.Lock()
	defer s.Unlock()
	ln := s.lines[key]
	if ln == nil {
		return
	}
	for ln.first != nil {
		ln.Give(ln.first, gift)
	}
	if ln.asker != nil {
		ln.Give(ln.asker, gift)
	}
}

// Nudge wakes the asker of key, to ask again.
func (ls *Lines) Nudge(key string) {
	s := ls.Shard(key)
	s.Lock()
	defer s.Unlock()
	if ln := s.lines[key]; ln != nil && ln.asker != nil {
		ln.asker.signal()
	}
}
