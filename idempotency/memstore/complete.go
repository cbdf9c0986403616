package memstore

import (
	"context"
	"fmt"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/lock"
)

// Complete implements [idempotency.Store]. An outcome is recorded also if the
// Store is full. Its errors are those named there, [idempotency.ErrInvalid] for
// a retention out of range, and [ErrClosed].
func (s *Store) Complete(ctx context.Context, r idempotency.CompleteRequest) (late bool, err error) {
	if err := checkRange("Retention", r.Retention, idempotency.MaxRetention); err != nil {
		return false, err
	}
	if err := s.check(ctx); err != nil {
		return false, err
	}
	r.Record = own(r.Record)
	late, tell, err := s.complete(&r)
	if tell {
		s.board.TellBytes(r.Key[:])
	}
	if err != nil {
		return false, fmt.Errorf("memstore: complete: %w", err)
	}
	return late, nil
}

// complete does the work of Complete and reports whether somebody waits for
// the key.
func (s *Store) complete(r *idempotency.CompleteRequest) (late, tell bool, err error) {
	sh := s.records.shard(s.seed, &r.Key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	now := s.now()
	e, state := sh.find(r.Key, now)
	mine := e != nil && e.nonce == r.Record.Nonce
	switch {
	case state == idempotency.StateCompleted && mine:
		return false, false, nil
	case state == idempotency.StateFree, state == idempotency.StateUnknown && mine:
		return false, false, lock.ErrExpired
	case state != idempotency.StateAbsent && !mine:
		return false, false, lock.ErrTaken
	}
	return state == idempotency.StateAbsent, sh.record(e, r, now), nil
}

// record puts r.Record, whose body and label nobody else has, in the place of e,
// which may be nil, and reports whether somebody waits.
func (sh *shard) record(e *entry, r *idempotency.CompleteRequest, now int64) (tell bool) {
	e, _ = sh.hold(e, r.Key, r.Record.Body, r.Record.Label, true)
	tell, e.waiters, e.state = e.waiters, false, idempotency.StateCompleted
	e.nonce, e.fingerprint = r.Record.Nonce, r.Record.Fingerprint
	e.fence, e.attempt = r.Record.Fence, r.Record.Attempt
	e.claimedAt, e.completedAt = r.Record.ClaimedAt.UnixMilli(), r.Record.CompletedAt.UnixMilli()
	sh.end(e, now+int64(r.Retention))
	return tell
}
