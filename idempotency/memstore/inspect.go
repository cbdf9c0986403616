package memstore

import (
	"bytes"
	"context"
	"iter"
	"slices"
	"time"

	"github.com/semel-go/semel/idempotency"
)

// Look implements [idempotency.Inspector].
func (s *Store) Look(ctx context.Context, key idempotency.Digest) (idempotency.Info, error) {
	if err := s.check(ctx); err != nil {
		return idempotency.Info{}, err
	}
	info := s.look(key)
	info.Record = own(info.Record)
	return info, nil
}

// look does the work of Look. The answer shares its record's body and label.
func (s *Store) look(key idempotency.Digest) idempotency.Info {
	sh := s.records.shard(s.seed, &key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	now := s.now()
	e, state := sh.find(key, now)
	if state == idempotency.StateAbsent {
		return idempotency.Info{Key: key}
	}
	return e.info(now)
}

// info describes e, which has not ended.
func (e *entry) info(now int64) idempotency.Info {
	info := idempotency.Info{
		Key: e.key, State: e.state, Remaining: time.Duration(e.until - now),
		Waiters: e.waiters, Record: e.record(), Size: e.size(),
	}
	if e.state == idempotency.StateFree && e.notBefore > now {
		info.NotBefore = time.Duration(e.notBefore - now)
	}
	return info
}

// List implements [idempotency.Inspector]. It looks at one shard at a time.
func (s *Store) List(ctx context.Context, o idempotency.ListOptions) iter.Seq2[idempotency.Info, error] {
	return func(yield func(idempotency.Info, error) bool) {
		for i := range s.records {
			if err := s.check(ctx); err != nil {
				yield(idempotency.Info{}, err)
				return
			}
			for _, info := range s.records[i].list(o) {
				info.Record = own(info.Record)
				if !yield(info, nil) {
					return
				}
			}
		}
	}
}

// list returns what o selects of the shard.
func (sh *shard) list(o idempotency.ListOptions) []idempotency.Info {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	now := sh.store.now()
	var infos []idempotency.Info
	for _, e := range sh.entries {
		if now < e.until && bytes.HasPrefix(e.key[:], o.Scope) &&
			(len(o.States) == 0 || slices.Contains(o.States, e.state)) {
			infos = append(infos, e.info(now))
		}
	}
	return infos
}

// Forget implements [idempotency.Inspector]. A free key that may not be claimed
// yet may be from then on, and is forgotten no earlier than before. Error:
// [idempotency.ErrInvalid] for a stub out of range.
func (s *Store) Forget(ctx context.Context, key idempotency.Digest, stub time.Duration) (bool, error) {
	return s.operate(ctx, "stub", stub, key, func(sh *shard, e *entry, state idempotency.State, now int64) (bool, bool) {
		if state == idempotency.StateAbsent {
			return false, false
		}
		until := now + int64(stub)
		if state == idempotency.StateFree {
			until = max(until, e.until)
		}
		return sh.dismiss(e, until, now), true
	})
}

// ReleaseDead implements [idempotency.Inspector]. Error:
// [idempotency.ErrInvalid] for a stub out of range.
func (s *Store) ReleaseDead(
	ctx context.Context, key idempotency.Digest, nonce idempotency.Nonce, stub time.Duration,
) (bool, error) {
	return s.operate(ctx, "stub", stub, key, func(sh *shard, e *entry, state idempotency.State, now int64) (bool, bool) {
		if state != idempotency.StateUnknown && (state != idempotency.StateClaimed || e.nonce != nonce) {
			return false, false
		}
		return sh.dismiss(e, now+int64(stub), now), true
	})
}

// dismiss frees e in whatever state and reports whether somebody waits.
func (sh *shard) dismiss(e *entry, until, now int64) (tell bool) {
	sh.store.count(0, -int64(len(e.body)))
	e.body, e.notBefore, e.completedAt = nil, now, 0
	return sh.free(e, until)
}

// ForceComplete implements [idempotency.Inspector]. The record's fence is the
// Store's next one, whatever r says, and the outcome is recorded also if the
// Store is full. Error: [idempotency.ErrInvalid] for a retention out of range.
func (s *Store) ForceComplete(ctx context.Context, r idempotency.CompleteRequest) (bool, error) {
	r.Record = own(r.Record)
	return s.operate(ctx, "Retention", r.Retention, r.Key, func(sh *shard, e *entry, state idempotency.State, now int64) (bool, bool) {
		if state == idempotency.StateCompleted {
			return false, false
		}
		var last uint64
		if e != nil {
			last = e.fence
		}
		r.Record.Fence = s.fence(last, now)
		return sh.record(e, &r, now), true
	})
}

// operate changes the state of a key as an operator wishes: do reports whether
// somebody waits for the key, and whether it did anything. What lasts for d is
// named field.
func (s *Store) operate(
	ctx context.Context, field string, d time.Duration, key idempotency.Digest,
	do func(sh *shard, e *entry, state idempotency.State, now int64) (tell, done bool),
) (bool, error) {
	if err := checkRange(field, d, idempotency.MaxRetention); err != nil {
		return false, err
	}
	if err := s.check(ctx); err != nil {
		return false, err
	}
	sh := s.records.shard(s.seed, &key)
	sh.mu.Lock()
	now := s.now()
	e, state := sh.find(key, now)
	tell, done := do(sh, e, state, now)
	sh.mu.Unlock()
	if tell {
		s.board.TellBytes(key[:])
	}
	return done, nil
}
