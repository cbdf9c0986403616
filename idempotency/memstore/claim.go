package memstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/lock"
)

// Begin implements [idempotency.Store]. Its errors are those named there,
// [idempotency.ErrInvalid] for a lease out of range, [ErrFull] and [ErrClosed];
// none of them leaves anything behind.
func (s *Store) Begin(ctx context.Context, r idempotency.BeginRequest) (idempotency.Begun, error) {
	if err := checkRange("Lease", r.Lease, idempotency.MaxLease); err != nil {
		return idempotency.Begun{}, err
	}
	if err := s.check(ctx); err != nil {
		return idempotency.Begun{}, err
	}
	b, err := s.begin(&r)
	if errors.Is(err, ErrFull) && s.makeRoom() {
		b, err = s.begin(&r)
	}
	if err != nil {
		return idempotency.Begun{}, fmt.Errorf("memstore: begin: %w", err)
	}
	b.Record = own(b.Record)
	return b, nil
}

// begin does the work of Begin. The answer shares its record's body and label.
func (s *Store) begin(r *idempotency.BeginRequest) (idempotency.Begun, error) {
	sh := s.records.shard(s.seed, &r.Key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	now := s.now()
	e, state := sh.find(r.Key, now)
	switch state {
	case idempotency.StateClaimed:
		if e.nonce != r.Nonce {
			e.waiters = e.waiters || r.Waiting
			return idempotency.Begun{
				State: idempotency.StateHeld, Remaining: time.Duration(e.until - now), Fingerprint: e.fingerprint,
			}, nil
		}
		// A copy of the request that made the claim. It never shortens: it may
		// be late, and the claim renewed since for longer than it asks.
		sh.prolong(e, now+int64(r.Lease))
		return idempotency.Begun{State: idempotency.StateClaimed, Fence: e.fence, Attempt: e.attempt}, nil
	case idempotency.StateCompleted:
		return idempotency.Begun{
			State: idempotency.StateCompleted, Remaining: time.Duration(e.until - now), Record: e.record(),
		}, nil
	case idempotency.StateUnknown:
		return idempotency.Begun{
			State: idempotency.StateUnknown, Remaining: time.Duration(e.until - now), Fingerprint: e.fingerprint,
		}, nil
	case idempotency.StateFree:
		if e.nonce == r.Nonce {
			return idempotency.Begun{}, lock.ErrSpent
		}
		if now < e.notBefore {
			e.waiters = e.waiters || r.Waiting
			return idempotency.Begun{State: idempotency.StateFree, Remaining: time.Duration(e.notBefore - now)}, nil
		}
	}
	return s.claim(sh, e, state, r, now)
}

// claim gives r.Nonce the key, which is absent or free.
func (s *Store) claim(
	sh *shard, e *entry, state idempotency.State, r *idempotency.BeginRequest, now int64,
) (idempotency.Begun, error) {
	e, ok := sh.hold(e, r.Key, nil, bytes.Clone(r.Label), false)
	if !ok {
		return idempotency.Begun{}, ErrFull
	}
	if state == idempotency.StateAbsent {
		e.attempt = 0
	}
	e.state, e.waiters = idempotency.StateClaimed, false
	e.nonce, e.fingerprint = r.Nonce, r.Fingerprint
	e.fence, e.attempt = s.fence(e.fence, now), e.attempt+1
	e.claimedAt = s.wall(now).UnixMilli()
	sh.end(e, now+int64(r.Lease))
	return idempotency.Begun{State: idempotency.StateClaimed, Fence: e.fence, Attempt: e.attempt}, nil
}

// hold makes body and label, which nobody else has, what the entry of key holds,
// counts them, and returns the entry: e, or a new one if that is nil. Unless it
// must, it refuses to exceed the store's bounds.
func (sh *shard) hold(e *entry, key idempotency.Digest, body, label []byte, must bool) (*entry, bool) {
	var entries, before int64
	if e == nil {
		entries = 1
	} else {
		before = e.size()
	}
	after := entryBytes + int64(len(body)+len(label))
	if !sh.store.count(entries, after-before) && !must {
		sh.store.entries.Add(-entries)
		sh.store.bytes.Add(before - after)
		return e, false
	}
	if e == nil {
		e = sh.add(key)
	}
	e.body, e.label = body, label
	return e, true
}

// count adds to what the store keeps and reports whether that is within its
// bounds, or at least not made worse.
func (s *Store) count(entries, size int64) bool {
	n, b := s.entries.Add(entries), s.bytes.Add(size)
	return (entries <= 0 || n <= int64(s.limit.MaxEntries)) && (size <= 0 || b <= s.limit.MaxBytes)
}

// Renew implements [idempotency.Store]. Its errors are those named there,
// [idempotency.ErrInvalid] for a lease out of range, and [ErrClosed].
func (s *Store) Renew(ctx context.Context, r idempotency.RenewRequest) error {
	if err := checkRange("Lease", r.Lease, idempotency.MaxLease); err != nil {
		return err
	}
	if err := s.check(ctx); err != nil {
		return err
	}
	sh := s.records.shard(s.seed, &r.Key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	now := s.now()
	e, state := sh.find(r.Key, now)
	switch {
	case state == idempotency.StateAbsent || state == idempotency.StateFree:
		return fmt.Errorf("memstore: renew: %w", lock.ErrExpired)
	case state != idempotency.StateClaimed || e.nonce != r.Nonce:
		return fmt.Errorf("memstore: renew: %w", lock.ErrTaken)
	}
	sh.prolong(e, now+int64(r.Lease))
	return nil
}

// Node implements [idempotency.BatchRenewer]: there is one node, this process.
func (s *Store) Node(idempotency.Digest) string { return "" }

// RenewBatch implements [idempotency.BatchRenewer].
func (s *Store) RenewBatch(ctx context.Context, rs []idempotency.RenewRequest) []error {
	errs := make([]error, len(rs))
	for i, r := range rs {
		errs[i] = s.Renew(ctx, r)
	}
	return errs
}
