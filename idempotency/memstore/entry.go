package memstore

import (
	"bytes"
	"hash/maphash"
	"sync"
	"time"

	"github.com/semel-go/semel/idempotency"
)

const (
	// shardCount is how many parts a table's keys are spread over, so that
	// housekeeping holds up one key in that many.
	shardCount = 128
	// entryBytes is about what an entry without body and label takes: itself,
	// its place in the map and in the queue of what ends.
	entryBytes = 300
	// smallMap is the size up to which a map is not worth rebuilding: one
	// group of slots.
	smallMap = 8
	// spareTurns is how many void turns a queue may have besides one for each
	// entry: each holds on to an entry that may be gone, uncounted.
	spareTurns = 64
)

// entry is what is known of a key. Instants are nanoseconds since the store
// was made, times of day milliseconds since 1970.
//
// The body and label of an entry are replaced and never written to, so they may
// be read after its shard was unlocked.
type entry struct {
	key         idempotency.Digest
	nonce       idempotency.Nonce
	fingerprint idempotency.Fingerprint
	fence       uint64
	// until is when the entry ends.
	until int64
	// notBefore is when a free key may be claimed.
	notBefore int64
	// queued is the instant for which the entry stands in the queue of what
	// ends; 0 if it does not.
	queued                 int64
	claimedAt, completedAt int64
	body, label            []byte
	attempt                uint32
	state                  idempotency.State
	waiters                bool
}

// record returns what e knows as a Record, which shares its body and label.
func (e *entry) record() idempotency.Record {
	r := idempotency.Record{
		Nonce: e.nonce, Fence: e.fence, Attempt: e.attempt, Fingerprint: e.fingerprint,
		ClaimedAt: time.UnixMilli(e.claimedAt), Body: e.body, Label: e.label,
	}
	if e.state == idempotency.StateCompleted {
		r.CompletedAt = time.UnixMilli(e.completedAt)
	}
	return r
}

// size is what e takes of the store's bytes.
func (e *entry) size() int64 { return entryBytes + int64(len(e.body)+len(e.label)) }

// own returns r with a body and label that nobody else holds.
func own(r idempotency.Record) idempotency.Record {
	r.Body, r.Label = bytes.Clone(r.Body), bytes.Clone(r.Label)
	return r
}

// table is a set of keys.
type table [shardCount]shard

// shard returns the part of t that key is in.
func (t *table) shard(seed maphash.Seed, key *idempotency.Digest) *shard {
	return &t[maphash.Bytes(seed, key[:])%shardCount]
}

// shard is a part of a table's keys.
type shard struct {
	store   *Store
	mu      sync.Mutex
	entries map[idempotency.Digest]*entry
	due     queue
	// peak is the most entries the map has held since it was made.
	peak int
}

// find returns the entry of key and its state. Of a key that is absent it
// returns the entry that has ended and is not swept yet, or nil.
func (sh *shard) find(key idempotency.Digest, now int64) (*entry, idempotency.State) {
	e := sh.entries[key]
	if e == nil || now >= e.until {
		return e, idempotency.StateAbsent
	}
	return e, e.state
}

// add makes an entry for a key that has none. The store's counts have been
// raised for it.
func (sh *shard) add(key idempotency.Digest) *entry {
	e := &entry{key: key}
	if sh.entries == nil {
		sh.entries = map[idempotency.Digest]*entry{}
	}
	sh.entries[key] = e
	sh.peak = max(sh.peak, len(sh.entries))
	return e
}

// end makes until the instant at which e ends.
func (sh *shard) end(e *entry, until int64) {
	e.until = until
	// An entry that ends later than it is queued for is queued anew when its
	// turn comes, so that neither a renewal nor a completion touches the queue.
	if e.queued == 0 || until < e.queued {
		e.queued = until
		sh.due.push(turn{until, e})
		if len(sh.due) > 2*len(sh.entries)+spareTurns {
			sh.due = sh.due.valid(len(sh.entries))
		}
		sh.store.sweeper.schedule(until)
	}
}

// prolong moves the end of e, but never to an earlier instant.
func (sh *shard) prolong(e *entry, until int64) {
	if until > e.until {
		sh.end(e, until)
	}
}

// remove forgets e, which has ended.
func (sh *shard) remove(e *entry) {
	delete(sh.entries, e.key)
	e.queued = 0
	sh.store.entries.Add(-1)
	sh.store.bytes.Add(-e.size())
	sh.shrink()
}

// shrink rebuilds the map and the queue once they have become small, for they
// keep the room of their largest size. What it copies is at most a third of
// what was removed before, and a small part of one table.
func (sh *shard) shrink() {
	left := len(sh.entries)
	if left > 0 && (sh.peak <= smallMap || left > sh.peak/4) {
		return
	}
	var entries map[idempotency.Digest]*entry
	if left > 0 {
		entries = make(map[idempotency.Digest]*entry, left)
	}
	for k, e := range sh.entries {
		entries[k] = e
	}
	sh.entries, sh.peak = entries, left
	sh.due = sh.due.valid(left)
}
