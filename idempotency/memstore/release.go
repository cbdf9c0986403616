package memstore

import (
	"context"
	"fmt"
	"time"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/lock"
)

// Release implements [idempotency.Store]. A free key is remembered for r.TTL
// after the time before which it may not be claimed. A full Store keeps no stub
// of a compensation whose key is absent and says [lock.ErrExpired]: a copy of
// the Begin that comes when there is room again claims the key, for nobody,
// until its lease is over. The other errors are those named there,
// [idempotency.ErrInvalid] for a time out of range, and [ErrClosed].
func (s *Store) Release(ctx context.Context, r idempotency.ReleaseRequest) error {
	if err := checkRelease(r); err != nil {
		return err
	}
	if err := s.check(ctx); err != nil {
		return err
	}
	tell, err := s.release(&r)
	if tell {
		s.board.TellBytes(r.Key[:])
	}
	if err != nil {
		return fmt.Errorf("memstore: release: %w", err)
	}
	return nil
}

// checkRelease refuses times that are out of range.
func checkRelease(r idempotency.ReleaseRequest) error {
	if err := checkRange("TTL", r.TTL, idempotency.MaxRetention); err != nil {
		return err
	}
	// These may be as short as the handler says: to refuse one would leave the key
	// to a run that has failed.
	for _, t := range []struct {
		field string
		d     time.Duration
	}{{"NotBefore", r.NotBefore}, {"Unknown", r.Unknown}} {
		if t.d > idempotency.MaxRetention {
			return fmt.Errorf("memstore: %s %v is above %v: %w", t.field, t.d, idempotency.MaxRetention, idempotency.ErrInvalid)
		}
	}
	return nil
}

// release does the work of Release and reports whether somebody waits for the
// key.
func (s *Store) release(r *idempotency.ReleaseRequest) (tell bool, err error) {
	sh := s.records.shard(s.seed, &r.Key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	now := s.now()
	e, state := sh.find(r.Key, now)
	switch state {
	case idempotency.StateClaimed:
		if e.nonce != r.Nonce {
			return false, lock.ErrTaken
		}
		return sh.giveUp(e, r, now), nil
	case idempotency.StateCompleted:
		return false, lock.ErrTaken
	case idempotency.StateUnknown:
		if e.nonce != r.Nonce {
			return false, lock.ErrTaken
		}
		return false, nil
	case idempotency.StateFree:
		if e.nonce == r.Nonce {
			return false, nil
		}
	}
	if !r.Compensate || !sh.spend(e, state, r, now) {
		return false, lock.ErrExpired
	}
	return false, nil
}

// giveUp ends the claim e in the way that r says and reports whether somebody
// waits.
func (sh *shard) giveUp(e *entry, r *idempotency.ReleaseRequest, now int64) (tell bool) {
	if r.Unknown > 0 {
		tell, e.waiters, e.state = e.waiters, false, idempotency.StateUnknown
		sh.end(e, now+int64(r.Unknown))
		return tell
	}
	if r.Compensate {
		e.attempt-- // nobody has run
	}
	e.notBefore = now + int64(max(r.NotBefore, 0))
	return sh.free(e, e.notBefore+int64(r.TTL))
}

// free makes e free, its nonce spent, until the instant until, and reports
// whether somebody waits.
func (sh *shard) free(e *entry, until int64) (tell bool) {
	tell, e.waiters, e.state = e.waiters, false, idempotency.StateFree
	sh.end(e, until)
	return tell
}

// spend refuses r.Nonce to a copy of its Begin that is still on its way: the
// key is absent or free. Whoever was told when a free key may be claimed is
// still right. It reports false if there is no room for that.
func (sh *shard) spend(e *entry, state idempotency.State, r *idempotency.ReleaseRequest, now int64) bool {
	var label []byte
	if state == idempotency.StateFree {
		label = e.label
	}
	e, ok := sh.hold(e, r.Key, nil, label, false)
	if !ok {
		return false
	}
	if state == idempotency.StateAbsent {
		*e = entry{key: e.key, fence: e.fence, queued: e.queued, claimedAt: time.Time{}.UnixMilli()}
	}
	e.state, e.nonce = idempotency.StateFree, r.Nonce
	e.notBefore = max(e.notBefore, now+int64(max(r.NotBefore, 0)))
	sh.end(e, max(e.until, e.notBefore+int64(r.TTL)))
	return true
}
