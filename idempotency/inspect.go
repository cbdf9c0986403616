package idempotency

import (
	"context"
	"crypto/rand"
	"fmt"
	"iter"
	"time"
)

// Operator looks at a store's records and decides what a Guard must not: it is
// for people and their tools, not for the path of a request.
type Operator struct {
	guard     *Guard
	inspector Inspector
}

// Operator returns g's operator. Error: [ErrInvalid] if the store is not an
// [Inspector].
func (g *Guard) Operator() (*Operator, error) {
	inspector, ok := g.core.store.(Inspector)
	if !ok {
		return nil, fmt.Errorf("%w: the store is not an Inspector", ErrInvalid)
	}
	return &Operator{g, inspector}, nil
}

// Look returns the state of key.
func (o *Operator) Look(ctx context.Context, key Digest) (Info, error) {
	info, err := o.inspector.Look(ctx, key)
	if err != nil {
		return Info{}, unavailable("look", err)
	}
	return info, nil
}

// List yields what the store has, as [Inspector] does.
func (o *Operator) List(ctx context.Context, lo ListOptions) iter.Seq2[Info, error] {
	return o.inspector.List(ctx, lo)
}

// Result opens the result of a completed record.
//
// Error: [ErrResultUnavailable].
func (o *Operator) Result(info Info) (Result, error) {
	if info.State != StateCompleted {
		return Result{}, noResult("the key is %v", info.State)
	}
	return o.guard.seal.open(info.Key, info.Record)
}

// Forget frees key, whatever its state, so that the next duplicate runs it
// again. A run that is under way goes on and can no longer complete. It reports
// whether there was anything to forget, and when that is effective everywhere:
// until then a process with a local cache may still replay the old result,
// provided that no Guard on the store has a Cache.TTL greater than this one's.
func (o *Operator) Forget(ctx context.Context, key Digest) (found bool, effective time.Time, err error) {
	found, err = o.inspector.Forget(ctx, key, o.guard.full.StubFor)
	o.guard.core.cache.forget(key)
	ttl := o.guard.full.Cache.TTL
	if ttl == 0 {
		ttl = defaultCacheTTL
	}
	if err != nil {
		err = unavailable("forget", err)
	}
	return found, time.Now().Add(ttl), err
}

// ForceComplete records res as key's outcome, whatever its state, for the
// retention of the Guard. It reports false if the key is completed already: an
// outcome is final, except for Forget.
func (o *Operator) ForceComplete(ctx context.Context, key Digest, res Result) (bool, error) {
	now := time.Now().Truncate(time.Millisecond)
	rec := Record{ClaimedAt: now, CompletedAt: now}
	_, _ = rand.Read(rec.Nonce[:])
	info, err := o.Look(ctx, key)
	if err != nil {
		return false, err
	}
	if info.State != StateAbsent {
		rec.Fingerprint, rec.Attempt, rec.Label = info.Record.Fingerprint, info.Record.Attempt, info.Record.Label
	}
	if rec.Body, err = o.guard.seal.seal(key, rec, res); err != nil {
		return false, err
	}
	done, err := o.inspector.ForceComplete(ctx, CompleteRequest{Key: key, Record: rec, Retention: o.guard.full.Retention})
	if err != nil {
		return false, unavailable("force-complete", err)
	}
	return done, nil
}

// ReleaseDead frees key if it is claimed by nonce, or its outcome is unknown:
// for an owner that is known to be gone. It reports whether it was.
func (o *Operator) ReleaseDead(ctx context.Context, key Digest, nonce Nonce) (bool, error) {
	done, err := o.inspector.ReleaseDead(ctx, key, nonce, o.guard.full.StubFor)
	if err != nil {
		return false, unavailable("release", err)
	}
	return done, nil
}
