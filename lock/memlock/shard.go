package memlock

import (
	"container/heap"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/semel-go/semel/lock"
)

const (
	// shardCount is how many parts the keys are spread over.
	shardCount = 32
	// sweepLimit is how many ended entries one call removes at most. A call
	// adds at most one, so more than one suffices to catch up with any past.
	sweepLimit = 4
	// shrinkFrom is the size below which a map is not worth rebuilding.
	shrinkFrom = 1024
)

// errExhausted is no sentinel of package lock: fences run out only for who
// raises them to the end of uint64.
var errExhausted = errors.New("memlock: no fences left for this key")

// entry is a key that is not absent.
type entry struct {
	key   string
	nonce string
	state lock.State
	// first and block are the fences that the grant reserved, kept for a resend.
	first, block uint64
	// last is the last fence reserved for the key. Once it was raised, no
	// release may set it back.
	last    uint64
	raised  bool
	waiters bool
	// until is when the entry ends.
	until time.Time
	// place is the entry's index in its shard's due heap.
	place int
}

// shard is a part of the keys.
type shard struct {
	mu      sync.Mutex
	entries map[string]*entry
	due     dueHeap
	// peak is the most entries the map has held since it was made.
	peak int
	// start is when the Backend was made, the origin of its fences.
	start time.Time
}

// find returns the entry of key, nil if the key is absent.
func (s *shard) find(key string, now time.Time) *entry {
	e := s.entries[key]
	if e != nil && !now.Before(e.until) {
		s.remove(e)
		return nil
	}
	return e
}

// owned returns the entry of key if nonce holds it, else [lock.ErrExpired] or
// [lock.ErrTaken].
func (s *shard) owned(key, nonce string, now time.Time) (*entry, error) {
	e := s.find(key, now)
	switch {
	case e == nil || e.state != lock.StateHeld:
		return nil, lock.ErrExpired
	case e.nonce != nonce:
		return nil, lock.ErrTaken
	}
	return e, nil
}

// grant makes req.Nonce the owner of a key that is absent (e is nil) or free.
func (s *shard) grant(e *entry, req lock.Request, now time.Time) (lock.Grant, error) {
	if e == nil {
		e = s.add(req.Key, now.Add(req.TTL))
	}
	first, err := s.reserve(e, req.Block, now)
	if err != nil {
		return lock.Grant{}, err
	}
	e.nonce, e.waiters = req.Nonce, false
	e.first, e.block, e.raised = first, req.Block, false
	s.turn(e, lock.StateHeld, now.Add(req.TTL))
	return lock.Grant{Fence: first, Block: req.Block}, nil
}

// reserve takes the next n fences of e and returns the first.
func (s *shard) reserve(e *entry, n uint64, now time.Time) (uint64, error) {
	// The wall clock of the start plus the time since then, which a step of
	// the wall clock does not touch.
	clock := uint64(max(s.start.UnixMicro()+now.Sub(s.start).Microseconds(), 1))
	before := max(e.last, clock-1)
	if before > math.MaxUint64-n {
		return 0, errExhausted
	}
	e.last = before + n
	return before + 1, nil
}

// add makes an entry for a key that has none.
func (s *shard) add(key string, until time.Time) *entry {
	e := &entry{key: key, state: lock.StateFree, until: until}
	s.entries[key] = e
	s.peak = max(s.peak, len(s.entries))
	heap.Push(&s.due, e)
	return e
}

// turn gives e a state and the instant at which it ends.
func (s *shard) turn(e *entry, state lock.State, until time.Time) {
	e.state, e.until = state, until
	if state != lock.StateHeld {
		e.waiters = false
	}
	heap.Fix(&s.due, e.place)
}

// prolong moves the end of e, but never to an earlier instant.
func (s *shard) prolong(e *entry, until time.Time) {
	if until.After(e.until) {
		e.until = until
		heap.Fix(&s.due, e.place)
	}
}

// sweep removes some of the entries that have ended.
func (s *shard) sweep(now time.Time) {
	for range sweepLimit {
		if len(s.due) == 0 || now.Before(s.due[0].until) {
			return
		}
		s.remove(s.due[0])
	}
}

// remove forgets e.
func (s *shard) remove(e *entry) {
	heap.Remove(&s.due, e.place)
	delete(s.entries, e.key)
	s.shrink()
}

// shrink rebuilds the map once it has become small: a map keeps the room of its
// largest size, and copying an eighth of what was deleted costs little.
func (s *shard) shrink() {
	if s.peak < shrinkFrom || len(s.entries) > s.peak/8 {
		return
	}
	entries := make(map[string]*entry, len(s.entries))
	for k, e := range s.entries {
		entries[k] = e
	}
	s.entries, s.peak = entries, len(entries)
	s.due = append(make(dueHeap, 0, len(s.due)), s.due...)
}

// dueHeap orders entries by the instant at which they end, the next first.
type dueHeap []*entry

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].until.Before(h[j].until) }

func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

// Push implements [heap.Interface].
func (h *dueHeap) Push(x any) {
	e := x.(*entry)
	e.place = len(*h)
	*h = append(*h, e)
}

// Pop implements [heap.Interface].
func (h *dueHeap) Pop() any {
	old := *h
	last := len(old) - 1
	e := old[last]
	old[last] = nil
	*h = old[:last]
	return e
}
