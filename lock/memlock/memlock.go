// Package memlock keeps the ownership of keys in the memory of one process. It
// is the reference for what a [lock.Backend] does, the store of tests and
// examples, and a lock for programs that run as one process; it does not
// exclude anybody in another process, and forgets everything with its own.
//
// Every key has an entry with its state, its owner, the last fence reserved for
// it, and the instant at which the entry ends. Time is [time.Now], so a test
// under [testing/synctest] decides how it passes. The first fence of a grant is
// the last fence plus one or the time in microseconds since 1970, whichever is
// greater, so that fences go on rising after the entry was forgotten. That time
// is the wall clock's when the Backend was made plus what has passed since:
// setting the clock back moves no fence back. A key whose fences are used up
// faster than one a microsecond for all of its lease, or that was raised beyond
// the clock, keeps its order only while its entry lasts.
//
// An entry that has ended counts as absent at once. Its memory is given back
// in passing: each call also removes a few entries that have ended, so there is
// no goroutine and nothing to close. Keys are spread over shards, so that this
// housekeeping never holds up more than a few of them.
package memlock

import (
	"context"
	"fmt"
	"hash/maphash"
	"time"

	"github.com/semel-go/semel/internal/notice"
	"github.com/semel-go/semel/lock"
)

var (
	_ lock.Backend       = (*Backend)(nil)
	_ lock.BatchExtender = (*Backend)(nil)
	_ lock.Inspector     = (*Backend)(nil)
	_ lock.Interruptible = (*Backend)(nil)
	_ lock.Raiser        = (*Backend)(nil)
	_ lock.Waiter        = (*Backend)(nil)
)

// Options configures [New]. There is nothing to choose yet; the zero value is
// ready to use.
type Options struct{}

// Backend is a lock.Backend in memory. Make it with [New]. All methods are safe
// for concurrent use. A method whose context has already ended does nothing and
// returns an error that wraps the context's.
type Backend struct {
	seed   maphash.Seed
	shards [shardCount]shard
	board  notice.Board
}

// New returns an empty Backend. It needs no Close. The error is always nil; it
// is there so that options can be refused in later releases.
func New(Options) (*Backend, error) {
	b := &Backend{seed: maphash.MakeSeed()}
	start := time.Now()
	for i := range b.shards {
		b.shards[i].entries, b.shards[i].start = map[string]*entry{}, start
	}
	return b, nil
}

// Acquire implements [lock.Backend]. Its errors are those named there, and
// [lock.ErrInvalid] for a request out of range.
func (b *Backend) Acquire(ctx context.Context, req lock.Request) (lock.Grant, error) {
	if err := check(ctx, req.Key, req.Nonce, req.TTL); err != nil {
		return lock.Grant{}, err
	}
	if req.Block == 0 {
		return lock.Grant{}, fmt.Errorf("memlock: Block is 0: %w", lock.ErrInvalid)
	}
	s := b.shard(req.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.sweep(now)

	e := s.find(req.Key, now)
	switch {
	case e == nil || e.state == lock.StateFree && e.nonce != req.Nonce:
		return s.grant(e, req, now)
	case e.nonce != req.Nonce:
		e.waiters = e.waiters || req.Waiting
		return lock.Grant{}, &lock.HeldError{Key: req.Key, Remaining: e.until.Sub(now)}
	case e.state != lock.StateHeld:
		return lock.Grant{}, fmt.Errorf("memlock: acquire: %w", lock.ErrSpent)
	}
	// A copy of the request that made the grant. It never shortens: the copy
	// may be late, and the lease extended since, for longer than it asks.
	s.prolong(e, now.Add(req.TTL))
	return lock.Grant{Fence: e.first, Block: e.block, Waiters: e.waiters}, nil
}

// Extend implements [lock.Backend]. Its errors are those named there, and
// [lock.ErrInvalid] for a request out of range.
func (b *Backend) Extend(ctx context.Context, req lock.Request) (lock.Grant, error) {
	if err := check(ctx, req.Key, req.Nonce, req.TTL); err != nil {
		return lock.Grant{}, err
	}
	s := b.shard(req.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.sweep(now)

	e, err := s.owned(req.Key, req.Nonce, now)
	if err != nil {
		return lock.Grant{}, fmt.Errorf("memlock: extend: %w", err)
	}
	g := lock.Grant{Waiters: e.waiters}
	if req.Block > 0 {
		first, err := s.reserve(e, req.Block, now)
		if err != nil {
			return lock.Grant{}, err
		}
		g.Fence, g.Block = first, req.Block
	}
	s.prolong(e, now.Add(req.TTL))
	return g, nil
}

// Release implements [lock.Backend]. Its errors are those named there, and
// [lock.ErrInvalid] for a request out of range.
func (b *Backend) Release(ctx context.Context, req lock.ReleaseRequest) error {
	if err := check(ctx, req.Key, req.Nonce, req.TTL); err != nil {
		return err
	}
	tell, err := b.release(req)
	if tell {
		b.board.Tell(req.Key)
	}
	return err
}

// release does the work of Release and reports whether somebody waits for the
// key.
func (b *Backend) release(req lock.ReleaseRequest) (tell bool, err error) {
	s := b.shard(req.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.sweep(now)

	e := s.find(req.Key, now)
	switch {
	case e != nil && e.nonce == req.Nonce && e.state == lock.StateHeld:
		tell = e.waiters
		if !e.raised && req.Fence >= e.first && req.Fence < e.last {
			e.last = req.Fence
		}
		if req.Keep > 0 {
			s.turn(e, lock.StateKept, now.Add(req.Keep))
		} else {
			s.turn(e, lock.StateFree, now.Add(req.TTL))
		}
		return tell, nil
	case e != nil && e.nonce == req.Nonce:
		return false, nil
	case e != nil && e.state != lock.StateFree:
		return false, fmt.Errorf("memlock: release: %w", lock.ErrTaken)
	case !req.Compensate:
		return false, fmt.Errorf("memlock: release: %w", lock.ErrExpired)
	}
	if e == nil {
		e = s.add(req.Key, now.Add(req.TTL))
	}
	e.state, e.nonce, e.waiters = lock.StateFree, req.Nonce, false
	s.prolong(e, now.Add(req.TTL))
	return false, nil
}

// Node implements [lock.BatchExtender]: there is one node, this process.
func (b *Backend) Node(string) string { return "" }

// ExtendBatch implements [lock.BatchExtender].
func (b *Backend) ExtendBatch(ctx context.Context, reqs []lock.Request) ([]lock.Grant, []error) {
	grants, errs := make([]lock.Grant, len(reqs)), make([]error, len(reqs))
	for i, req := range reqs {
		grants[i], errs[i] = b.Extend(ctx, req)
	}
	return grants, errs
}

// Interruptible implements [lock.Interruptible]. It is true: no method ever
// blocks, so none needs a goroutine that could be left behind.
func (b *Backend) Interruptible() bool { return true }

func (b *Backend) shard(key string) *shard {
	return &b.shards[maphash.String(b.seed, key)%shardCount]
}

// check refuses what is out of range, and a context that has ended.
func check(ctx context.Context, key, nonce string, ttl time.Duration) error {
	switch {
	case key == "":
		return fmt.Errorf("memlock: Key is empty: %w", lock.ErrInvalid)
	case nonce == "":
		return fmt.Errorf("memlock: Nonce is empty: %w", lock.ErrInvalid)
	case ttl < lock.MinTTL || ttl > lock.MaxTTL:
		return fmt.Errorf("memlock: TTL %v is not between %v and %v: %w", ttl, lock.MinTTL, lock.MaxTTL, lock.ErrInvalid)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("memlock: %w", err)
	}
	return nil
}
