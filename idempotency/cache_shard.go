package idempotency

import (
	"bytes"
	"sync"
	"time"
)

// shard is one part of a cache: a map, and a ring of its slots. What is put goes
// to the ring's young end; at the old end it is given a second round if it was
// asked for since (the CLOCK algorithm), so that a get moves nothing.
type shard struct {
	mu      sync.Mutex
	forgets uint64 // the present generation
	slots   map[Digest]*slot
	ring    slot // next is the youngest, prev the oldest
	bytes   int64
	limit   int64
}

// slot is an entry in its place. Only used, prev and next change.
type slot struct {
	since      time.Time
	life       time.Duration
	used       bool // since it was last at the young end
	entry      entry
	key        Digest
	prev, next *slot
}

// slotBytes is what an entry takes besides its data and the name of its codec:
// the slot, and its share of a map that has just grown.
const slotBytes = 448

func (s *shard) start(limit int64) {
	s.limit = limit
	s.slots = make(map[Digest]*slot)
	s.ring.prev, s.ring.next = &s.ring, &s.ring
}

func (s *shard) generation() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forgets
}

func (s *shard) get(d Digest) (*entry, bool) {
	s.mu.Lock()
	at := s.slots[d]
	if at != nil {
		at.used = true
	}
	s.mu.Unlock()
	if at == nil {
		return nil, false
	}
	// The clock is asked after the lock is given up: it takes longer than the
	// rest.
	if !at.over(time.Now()) {
		return &at.entry, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.slots[d] == at {
		s.remove(at)
	}
	return nil, false
}

func (s *shard) put(d Digest, g generation, e entry, life time.Duration) {
	size := e.size()
	if size > s.limit {
		return
	}
	e.record.Body, e.record.Label = nil, nil
	e.result.Data = bytes.Clone(e.result.Data)
	at := &slot{since: g.since, life: life, entry: e, key: d}

	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.forgets != g.forgets {
		return
	}
	if old := s.slots[d]; old != nil {
		if old.entry.record.Fence > e.record.Fence {
			return
		}
		s.remove(old)
	}
	s.evict(now, s.limit-size)
	s.slots[d] = at
	s.link(at)
	s.bytes += size
}

// evict removes the oldest until at most most bytes are left, and as long as
// their life has ended. A second round clears used, so this comes to an end.
func (s *shard) evict(now time.Time, most int64) {
	for last := s.ring.prev; last != &s.ring; last = s.ring.prev {
		switch {
		case last.over(now):
			s.remove(last)
		case s.bytes <= most:
			return
		case last.used:
			last.used = false
			s.unlink(last)
			s.link(last)
		default:
			s.remove(last)
		}
	}
}

func (s *shard) forget(d Digest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgets++
	if at := s.slots[d]; at != nil {
		s.remove(at)
	}
}

// remove drops at, which is in the shard.
func (s *shard) remove(at *slot) {
	delete(s.slots, at.key)
	s.unlink(at)
	s.bytes -= at.entry.size()
}

// link puts at at the young end of the ring.
func (s *shard) link(at *slot) {
	at.prev, at.next = &s.ring, s.ring.next
	at.prev.next, at.next.prev = at, at
}

// unlink takes at out of the ring. It then points to no other, so that whoever
// has its entry keeps none but that.
func (s *shard) unlink(at *slot) {
	at.prev.next, at.next.prev = at.next, at.prev
	at.prev, at.next = nil, nil
}

// over reports whether at's life has ended.
func (at *slot) over(now time.Time) bool { return elapsed(at.since, now) >= at.life }

// size returns about how many bytes e takes in the cache.
func (e *entry) size() int64 {
	return slotBytes + int64(len(e.result.Codec)) + int64(len(e.result.Data))
}
