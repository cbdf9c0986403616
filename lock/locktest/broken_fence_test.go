package locktest_test

import (
	"context"
	"errors"
	"maps"
	"sync"
	"testing"

	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/lock/memlock"
)

// counting is a backend whose fences are counted instead of taken from a clock.
type counting struct {
	wrong
	mu     sync.Mutex
	counts map[string]uint64
}

func newCounting(m *memlock.Backend) *counting {
	c := &counting{counts: map[string]uint64{}}
	c.wrong = wrong{
		Backend: m, extend: m.Extend, release: m.Release, listen: m.Listen,
		look: m.Look, list: m.List, breaks: m.Break, raise: m.Raise,
	}
	c.acquire = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
		g, err := m.Acquire(ctx, req)
		if err == nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			g.Fence = c.counts[req.Key] + 1
			c.counts[req.Key] += req.Block
		}
		return g, err
	}
	return c
}

func (c *counting) forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.counts, key)
}

// forgetful counts only while the key is remembered.
func forgetful(_ *testing.T, m *memlock.Backend) lock.Backend {
	c := newCounting(m)
	acquire := c.acquire
	c.acquire = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
		if state(m, req.Key).State == lock.StateAbsent {
			c.forget(req.Key)
		}
		return acquire(ctx, req)
	}
	return c
}

// restored is a counting backend whose counts are set back by a restore.
type restored struct{ *counting }

// rewind remembers the counts and sets them back.
func (r restored) rewind() func() lock.Backend {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := maps.Clone(r.counts)
	return func() lock.Backend {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.counts = counts
		return r
	}
}

func brokenFences() []brokenBackend {
	return []brokenBackend{
		mistake("FenceRisesAcrossRelease", "grants a constant fence", func(w *wrong, m *memlock.Backend) {
			w.acquire = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
				g, err := m.Acquire(ctx, req)
				g.Fence = min(g.Fence, 1)
				return g, err
			}
		}),
		{"FenceRisesAcrossRelease", "gives the whole block back at a release", func(_ *testing.T, m *memlock.Backend) lock.Backend {
			c := newCounting(m)
			c.release = func(ctx context.Context, req lock.ReleaseRequest) error {
				c.forget(req.Key)
				return m.Release(ctx, req)
			}
			return c
		}},
		{"FenceRisesAcrossExpiry", "counts fences in the value that expires", forgetful},
		{"FenceRisesAcrossKept", "counts fences in a value that is gone when the key was kept", forgetful},
		{"FenceRisesAcrossCompensation", "counts fences in the value that a compensation overwrites",
			func(_ *testing.T, m *memlock.Backend) lock.Backend {
				c := newCounting(m)
				c.release = func(ctx context.Context, req lock.ReleaseRequest) error {
					if req.Compensate {
						c.forget(req.Key)
					}
					return m.Release(ctx, req)
				}
				return c
			}},
		{"FenceRisesAcrossBreak", "counts fences in the value that a break deletes",
			func(_ *testing.T, m *memlock.Backend) lock.Backend {
				c := newCounting(m)
				c.breaks = func(ctx context.Context, key string) error {
					c.forget(key)
					return m.Break(ctx, key)
				}
				return c
			}},
		{"FenceRisesAcrossRewind", "counts fences from the beginning after it lost its data",
			func(_ *testing.T, m *memlock.Backend) lock.Backend { return newCounting(m) }},
		{"FenceRisesAcrossRewind", "counts fences from a counter that a restore sets back",
			func(_ *testing.T, m *memlock.Backend) lock.Backend { return restored{newCounting(m)} }},
		mistake("RaiseLiftsFence", "does not raise", func(w *wrong, m *memlock.Backend) {
			w.raise = func(ctx context.Context, key, nonce string, _ uint64) error {
				return m.Raise(ctx, key, nonce, 1)
			}
		}),
		mistake("RaiseLiftsFence", "loses the last digits of a fence", func(w *wrong, m *memlock.Backend) {
			w.raise = func(ctx context.Context, key, nonce string, fence uint64) error {
				return m.Raise(ctx, key, nonce, fence/100*100)
			}
		}),
		mistake("RaiseLiftsFence", "sets a raised fence back at a release", func(w *wrong, m *memlock.Backend) {
			var last uint64
			w.release = func(ctx context.Context, req lock.ReleaseRequest) error {
				if req.Fence != 0 {
					last = req.Fence
				}
				return m.Release(ctx, req)
			}
			w.acquire = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
				g, err := m.Acquire(ctx, req)
				if err == nil && last != 0 {
					last++
					g.Fence = last
				}
				return g, err
			}
		}),
		mistake("RaiseLiftsFence", "raises whoever the owner is", func(w *wrong, m *memlock.Backend) {
			w.raise = func(ctx context.Context, key, nonce string, fence uint64) error {
				if now := state(m, key); now.State == lock.StateHeld {
					nonce = now.Nonce
				}
				return m.Raise(ctx, key, nonce, fence)
			}
		}),
	}
}

func brokenBlocks() []brokenBackend {
	return []brokenBackend{
		mistake("BlockIsWhole", "reserves one fence whatever the block", func(w *wrong, m *memlock.Backend) {
			w.acquire = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
				req.Block = min(req.Block, 1)
				return m.Acquire(ctx, req)
			}
		}),
		mistake("BlockIsWhole", "extends into the block of the grant", func(w *wrong, m *memlock.Backend) {
			w.extend = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
				g, err := m.Extend(ctx, req)
				if err == nil && req.Block > 0 {
					g.Fence--
				}
				return g, err
			}
		}),
		mistake("BlocksNeverOverlap", "reserves less than it says", func(w *wrong, m *memlock.Backend) {
			w.extend = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
				g, err := m.Extend(ctx, lock.Request{Key: req.Key, Nonce: req.Nonce, TTL: req.TTL, Block: min(req.Block, 1)})
				g.Block = req.Block
				return g, err
			}
		}),
		mistake("ReleaseGivesBackFences", "does not take unused fences back", func(w *wrong, m *memlock.Backend) {
			w.release = func(ctx context.Context, req lock.ReleaseRequest) error {
				req.Fence = 0
				return m.Release(ctx, req)
			}
		}),
		mistake("ReleaseKeepsGivenFences", "takes used fences back", func(w *wrong, m *memlock.Backend) {
			var firsts sync.Map
			w.acquire = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
				g, err := m.Acquire(ctx, req)
				if err == nil {
					firsts.Store(req.Key, g.Fence)
				}
				return g, err
			}
			w.release = func(ctx context.Context, req lock.ReleaseRequest) error {
				if first, ok := firsts.Load(req.Key); ok {
					req.Fence = first.(uint64)
				}
				return m.Release(ctx, req)
			}
		}),
	}
}

func brokenInput() []brokenBackend {
	dead := func(ctx context.Context) bool { return ctx.Err() != nil }
	return []brokenBackend{
		byKey("KeysAreTheirBytes", "folds the case of keys", func(key string) string { return folded(key) }),
		byKey("KeysAreTheirBytes", "ends keys at a NUL", func(key string) string { return untilNUL(key) }),
		byKey("KeysAreTheirBytes", "cuts long keys", func(key string) string { return key[:min(len(key), 64<<10-1)] }),
		byKey("KeysAreTheirBytes", "keeps what is in braces alone", func(key string) string { return braced(key) }),
		byKey("KeysAreTheirBytes", "repairs what is not UTF-8", func(key string) string { return string([]rune(key)) }),
		byKey("EmptyKeyIsInvalid", "has one lock for the empty key", func(key string) string {
			if key == "" {
				return "default"
			}
			return key
		}),
		mistake("EmptyNonceIsInvalid", "takes an empty nonce", func(w *wrong, m *memlock.Backend) {
			w.acquire = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
				if req.Nonce == "" {
					req.Nonce = "anonymous"
				}
				return m.Acquire(ctx, req)
			}
		}),
		mistake("TTLOutOfRangeIsInvalid", "makes the best of a TTL that is too short", func(w *wrong, m *memlock.Backend) {
			w.acquire = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
				req.TTL = max(req.TTL, lock.MinTTL)
				return m.Acquire(ctx, req)
			}
		}),
		mistake("TTLOutOfRangeIsInvalid", "makes the best of a TTL that is too long", func(w *wrong, m *memlock.Backend) {
			w.extend = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
				req.TTL = min(req.TTL, lock.MaxTTL)
				return m.Extend(ctx, req)
			}
		}),
		mistake("TTLOutOfRangeIsInvalid", "takes any TTL for a spent nonce", func(w *wrong, m *memlock.Backend) {
			w.release = func(ctx context.Context, req lock.ReleaseRequest) error {
				req.TTL = min(max(req.TTL, lock.MinTTL), lock.MaxTTL)
				return m.Release(ctx, req)
			}
		}),
		mistake("TTLOutOfRangeIsInvalid", "does not say what is wrong", func(w *wrong, m *memlock.Backend) {
			w.acquire = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
				g, err := m.Acquire(ctx, req)
				if errors.Is(err, lock.ErrInvalid) {
					err = lock.ErrInvalid
				}
				return g, err
			}
		}),
		mistake("BlockZeroIsInvalid", "grants without a fence", func(w *wrong, m *memlock.Backend) {
			w.acquire = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
				none := req.Block == 0
				req.Block = max(req.Block, 1)
				g, err := m.Acquire(ctx, req)
				if none {
					g = lock.Grant{}
				}
				return g, err
			}
		}),
		mistake("DeadContextLeavesNothing", "takes a dead context for contention", func(w *wrong, m *memlock.Backend) {
			w.acquire = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
				if dead(ctx) {
					return lock.Grant{}, &lock.HeldError{Key: req.Key, Cause: ctx.Err()}
				}
				return m.Acquire(ctx, req)
			}
		}),
		mistake("DeadContextLeavesNothing", "takes a dead context for a lost lease", func(w *wrong, m *memlock.Backend) {
			w.extend = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
				if dead(ctx) {
					return lock.Grant{}, lock.ErrExpired
				}
				return m.Extend(ctx, req)
			}
		}),
	}
}
