package memlock

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/semel-go/semel/lock"
)

// Look implements [lock.Inspector]. An empty key is [lock.ErrInvalid].
func (b *Backend) Look(ctx context.Context, key string) (lock.Info, error) {
	if err := checkKey(ctx, key); err != nil {
		return lock.Info{}, err
	}
	s := b.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if e := s.find(key, now); e != nil {
		return e.info(now), nil
	}
	return lock.Info{Key: key, State: lock.StateAbsent}, nil
}

// List implements [lock.Inspector]. It looks at one shard at a time.
func (b *Backend) List(ctx context.Context) iter.Seq2[lock.Info, error] {
	return func(yield func(lock.Info, error) bool) {
		for i := range b.shards {
			for _, info := range b.shards[i].list() {
				if err := ctx.Err(); err != nil {
					yield(lock.Info{}, fmt.Errorf("memlock: %w", err))
					return
				}
				if !yield(info, nil) {
					return
				}
			}
		}
	}
}

// list returns what the shard holds.
func (s *shard) list() []lock.Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	infos := make([]lock.Info, 0, len(s.entries))
	for _, e := range s.entries {
		if now.Before(e.until) {
			infos = append(infos, e.info(now))
		}
	}
	return infos
}

// Break implements [lock.Inspector]. The spent nonce is remembered for as long
// as the broken lease would have lasted. A key that is absent or free stays as
// it is. An empty key is [lock.ErrInvalid].
func (b *Backend) Break(ctx context.Context, key string) error {
	if err := checkKey(ctx, key); err != nil {
		return err
	}
	s := b.shard(key)
	s.mu.Lock()
	tell := false
	if e := s.find(key, time.Now()); e != nil && e.state != lock.StateFree {
		tell = e.waiters
		s.turn(e, lock.StateFree, e.until)
	}
	s.mu.Unlock()
	if tell {
		b.board.Tell(key)
	}
	return nil
}

// Raise implements [lock.Raiser].
func (b *Backend) Raise(ctx context.Context, key, nonce string, fence uint64) error {
	if err := checkKey(ctx, key); err != nil {
		return err
	}
	s := b.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.owned(key, nonce, time.Now())
	if err != nil {
		return fmt.Errorf("memlock: raise: %w", err)
	}
	e.last, e.raised = max(e.last, fence), true
	return nil
}

// info describes e at the instant now.
func (e *entry) info(now time.Time) lock.Info {
	return lock.Info{
		Key: e.key, State: e.state, Nonce: e.nonce, Fence: e.last,
		Remaining: e.until.Sub(now), Waiters: e.waiters,
	}
}

// checkKey refuses an empty key, and a context that has ended.
func checkKey(ctx context.Context, key string) error {
	if key == "" {
		return fmt.Errorf("memlock: Key is empty: %w", lock.ErrInvalid)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("memlock: %w", err)
	}
	return nil
}
