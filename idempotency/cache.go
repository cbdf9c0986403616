package idempotency

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"time"
)

// LocalCache keeps completed records in this process's memory, decoded, so that
// their duplicates cost no round trip. Only completed records are kept: they
// are final. The zero value keeps none.
//
// What it costs is time to forget: after a Forget in another process, or a
// store that lost its data, this one may replay the old result for up to TTL
// longer. A Forget in this process holds at once.
type LocalCache struct {
	// Bytes bounds the memory, the cache's own included. A result that takes
	// more than a mebibyte is not kept unless Bytes is below two. At least
	// 4096.
	// Default: 0, off.
	Bytes int64

	// TTL is how long a record is believed, counted from before the store was
	// asked for it, suspend included; it never outlives the record's
	// retention. At most a minute, so that there is a time after which a
	// Forget holds everywhere.
	// Default: 5 s.
	TTL time.Duration
}

// Limits and defaults of a LocalCache.
const (
	minCacheBytes   = 4096
	defaultCacheTTL = 5 * time.Second
	maxCacheTTL     = time.Minute

	shardBytes = 1 << 20 // a shard for each, as far as
	maxShards  = 64      // there are no more than these
)

// entry is a completed record as the cache has it. It is shared by all who get
// it: its data must not be changed.
type entry struct {
	record Record // without Body and Label
	result Result
}

// cache is a LocalCache at work. A nil *cache is one that is off.
//
// What is read from the store may be out of date when it arrives here, because
// the key was forgotten meanwhile. So the reader takes a generation before it
// asks, forget raises it, and put refuses what is of an earlier one. There is
// one per shard, not one per key, which would have to be kept for ever: a
// Forget costs the few reads of the same shard that are under way their place.
type cache struct {
	ttl    time.Duration
	shards []shard // 2^n
}

// generation is when, in forgets and in time, a key was asked for.
type generation struct {
	forgets uint64
	since   time.Time
}

// elapsed returns the time from since to now: the greater of what Go's
// monotonic clock says and what the wall clock says, which goes on while the
// machine is suspended. Should the wall clock be set forward, an entry ends
// early. (The clock that package keeper reads is a system call, and takes
// longer than all the rest of a get.)
func elapsed(since, now time.Time) time.Duration {
	return max(now.Sub(since), now.Round(0).Sub(since))
}

// newCache returns the cache that o describes, nil if that is off.
//
// Error: ErrInvalid; it names the field.
func newCache(o LocalCache) (*cache, error) {
	if o.TTL == 0 {
		o.TTL = defaultCacheTTL
	}
	if o.TTL < 0 || o.TTL > maxCacheTTL {
		return nil, fmt.Errorf("%w: Options.Cache.TTL is %v, must be positive and at most %v", ErrInvalid, o.TTL, maxCacheTTL)
	}
	if o.Bytes == 0 {
		return nil, nil
	}
	if o.Bytes < minCacheBytes {
		return nil, fmt.Errorf("%w: Options.Cache.Bytes is %d, must be 0 or at least %d", ErrInvalid, o.Bytes, minCacheBytes)
	}
	n := min(max(o.Bytes/shardBytes, 1), maxShards)
	n = 1 << (bits.Len64(uint64(n)) - 1)
	c := &cache{ttl: o.TTL, shards: make([]shard, n)}
	for i := range c.shards {
		c.shards[i].start(o.Bytes / n)
	}
	return c, nil
}

// get returns what is known of d.
func (c *cache) get(d Digest) (*entry, bool) {
	if c == nil {
		return nil, false
	}
	return c.shard(d).get(d)
}

// generation is called before the store is asked for d; put wants it back.
func (c *cache) generation(d Digest) generation {
	if c == nil {
		return generation{}
	}
	// The clock first: between the two a forget may pass, which only makes the
	// entry's life shorter.
	since := time.Now()
	return generation{c.shard(d).generation(), since}
}

// put keeps e, of whose retention at least life was left when g was taken. It
// keeps nothing if d may have been forgotten since then, if a later run of d is
// known, or if e is too large. The data is copied.
func (c *cache) put(d Digest, g generation, e entry, life time.Duration) {
	if c == nil {
		return
	}
	if life = min(life, c.ttl); elapsed(g.since, time.Now()) < life {
		c.shard(d).put(d, g, e, life)
	}
}

// forget drops d, and what is being read of it.
func (c *cache) forget(d Digest) {
	if c != nil {
		c.shard(d).forget(d)
	}
}

// shard returns the shard of d. All keys of one scope begin with the same
// bytes; those at the end are evenly spread.
func (c *cache) shard(d Digest) *shard {
	end := binary.LittleEndian.Uint64(d[len(d)-8:])
	return &c.shards[end&uint64(len(c.shards)-1)]
}
