package idempotency

import (
	"bytes"
	"sync"
	"time"

	"github.com/semel-go/semel/internal/keeper"
)

// shard is one part of a cache: a map, and a ring of its slots in the order of
// their last use.
type shard struct {
	mu      sync.Mutex
	forgets uint64 // the present generation
	slots   map[Digest]*slot
	ring    slot // next is the one used last, prev the one used longest ago
	bytes   int64
	limit   int64
}

// slot is an entry in its place.
type slot struct {
	entry
	key        Digest
	since      keeper.Instant
	life       time.Duration
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

func (s *shard) get(d Digest) (entry, bool) {
	s.mu.Lock()
	at := s.slots[d]
	if at == nil {
		s.mu.Unlock()
		return entry{}, false
	}
	s.unlink(at)
	s.link(at)
	e, since, life := at.entry, at.since, at.life
	s.mu.Unlock()

	// The clock is asked after the lock is given up: it takes longer than all
	// the rest.
	if since.Elapsed() < life {
		return e, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.slots[d] == at {
		s.remove(at)
	}
	return entry{}, false
}

func (s *shard) put(d Digest, g generation, e entry, life time.Duration) {
	size := e.size()
	if size > s.limit {
		return
	}
	e.record.Body, e.record.Label = nil, nil
	e.result.Data = bytes.Clone(e.result.Data)
	at := &slot{entry: e, key: d, since: g.since, life: life}

	now := keeper.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.forgets != g.forgets {
		return
	}
	if old := s.slots[d]; old != nil {
		if old.record.Fence > e.record.Fence {
			return
		}
		s.remove(old)
	}
	s.slots[d] = at
	s.link(at)
	s.bytes += size
	for last := s.ring.prev; last != &s.ring && (s.bytes > s.limit || last.over(now)); last = s.ring.prev {
		s.remove(last)
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
	s.bytes -= at.size()
}

// link puts at in the ring as the one used last.
func (s *shard) link(at *slot) {
	at.prev, at.next = &s.ring, s.ring.next
	at.prev.next, at.next.prev = at, at
}

// unlink takes at out of the ring.
func (s *shard) unlink(at *slot) {
	at.prev.next, at.next.prev = at.next, at.prev
	at.prev, at.next = nil, nil
}

// over reports whether at's life has ended.
func (at *slot) over(now keeper.Instant) bool { return now.Sub(at.since) >= at.life }

// size returns about how many bytes e takes in the cache.
func (e *entry) size() int64 {
	return slotBytes + int64(len(e.result.Codec)) + int64(len(e.result.Data))
}
