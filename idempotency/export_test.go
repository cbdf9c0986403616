package idempotency

import (
	"reflect"
	"time"
)

// What the tests of the record's body, the codecs, the scopes and the cache need
// of the inside.

// Limits of the format.
const (
	MaxCodec = maxCodec
	MaxData  = maxData
)

// Sealer is sealer.
type Sealer struct{ s *sealer }

// NewSealer is newSealer.
func NewSealer(c Compression, e Encryption) (Sealer, error) {
	s, err := newSealer(c, e)
	return Sealer{s}, err
}

// Seal is seal.
func (s Sealer) Seal(key Digest, r Record, res Result) ([]byte, error) { return s.s.seal(key, r, res) }

// Open is open.
func (s Sealer) Open(key Digest, r Record) (Result, error) { return s.s.open(key, r) }

// CodecChecks is codecChecks.
type CodecChecks struct{ c codecChecks }

// CheckCodec is checkCodec.
func CheckCodec[T any](checks *CodecChecks, c Codec[T]) error { return checkCodec(&checks.c, c) }

// CheckJSON is checkJSON.
func CheckJSON(t reflect.Type) error { return checkJSON(t) }

// EncodeResult is encodeResult.
func EncodeResult[T any](c Codec[T], v T) (Result, error) { return encodeResult(c, v) }

// DecodeResult is decodeResult.
func DecodeResult[T any](c Codec[T], res Result) (T, error) { return decodeResult(c, res) }

// Scopes is scopes.
type Scopes struct{ s *scopes }

// NewScopes is newScopes.
func NewScopes() Scopes { return Scopes{newScopes()} }

// Digest is digest.
func (s Scopes) Digest(k Key) (Digest, error) { return s.s.digest(k) }

// Cache is cache.
type Cache struct{ c *cache }

// Generation is generation.
type Generation struct{ g generation }

// NewCache is newCache.
func NewCache(o LocalCache) (Cache, error) {
	c, err := newCache(o)
	return Cache{c}, err
}

// Off reports whether the cache is one that keeps nothing.
func (c Cache) Off() bool { return c.c == nil }

// Get is get.
func (c Cache) Get(d Digest) (Record, Result, bool) {
	e, ok := c.c.get(d)
	if !ok {
		return Record{}, Result{}, false
	}
	return e.record, e.result, true
}

// Has is get, without its copies.
func (c Cache) Has(d Digest) bool {
	_, ok := c.c.get(d)
	return ok
}

// Generation is generation.
func (c Cache) Generation(d Digest) Generation { return Generation{c.c.generation(d)} }

// Put is put.
func (c Cache) Put(d Digest, g Generation, r Record, res Result, life time.Duration) {
	c.c.put(d, g.g, entry{r, res}, life)
}

// Forget is forget.
func (c Cache) Forget(d Digest) { c.c.forget(d) }

// Used returns how many entries there are, how many bytes they are counted as,
// and whether every shard is within its limit and consistent.
func (c Cache) Used() (entries int, size int64, sound bool) {
	sound = true
	for i := range c.c.shards {
		s := &c.c.shards[i]
		s.mu.Lock()
		n, sum := 0, int64(0)
		for at := s.ring.next; at != &s.ring; at = at.next {
			n++
			sum += at.entry.size()
			sound = sound && s.slots[at.key] == at && at.next.prev == at
		}
		sound = sound && n == len(s.slots) && sum == s.bytes && s.bytes <= s.limit
		entries, size = entries+n, size+s.bytes
		s.mu.Unlock()
	}
	return entries, size, sound
}

// Shards returns the number of shards.
func (c Cache) Shards() int { return len(c.c.shards) }
