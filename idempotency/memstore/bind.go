package memstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/semel-go/semel/idempotency"
)

// Bind implements [idempotency.Binder]. Its errors are [idempotency.ErrInvalid]
// for a ttl out of range, [ErrFull] and [ErrClosed]; none of them binds
// anything.
func (s *Store) Bind(ctx context.Context, id, value idempotency.Digest, ttl time.Duration) (same bool, err error) {
	if err := checkRange("ttl", ttl, idempotency.MaxRetention); err != nil {
		return false, err
	}
	if err := s.check(ctx); err != nil {
		return false, err
	}
	same, err = s.bind(id, value, ttl)
	if errors.Is(err, ErrFull) && s.makeRoom() {
		same, err = s.bind(id, value, ttl)
	}
	if err != nil {
		return false, fmt.Errorf("memstore: bind: %w", err)
	}
	return same, nil
}

// bind does the work of Bind. A binding is an entry whose fingerprint is the
// value that the id is bound to.
func (s *Store) bind(id, value idempotency.Digest, ttl time.Duration) (same bool, err error) {
	sh := s.bindings.shard(s.seed, &id)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	now := s.now()
	e, _ := sh.find(id, now)
	if e != nil && now < e.until {
		return e.fingerprint == idempotency.Fingerprint(value), nil
	}
	e, ok := sh.hold(e, id, nil, nil, false)
	if !ok {
		return false, ErrFull
	}
	e.fingerprint = idempotency.Fingerprint(value)
	sh.end(e, now+int64(ttl))
	return true, nil
}
