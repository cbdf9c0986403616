package locktest_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/lock/memlock"
)

// cuts ends leases before their time.
type cuts struct {
	m  *memlock.Backend
	mu sync.Mutex
	at map[string]time.Time
}

// cut ends the lease of key after d.
func (c *cuts) cut(key string, d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at == nil {
		c.at = map[string]time.Time{}
	}
	c.at[key] = time.Now().Add(d)
}

// apply ends the lease of key if it is due.
func (c *cuts) apply(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.at[key]; ok && !time.Now().Before(at) {
		delete(c.at, key)
		_ = c.m.Break(context.Background(), key)
	}
}

// watch makes w apply the cuts before it acquires or extends.
func (c *cuts) watch(w *wrong) {
	acquire, extend := w.acquire, w.extend
	w.acquire = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
		c.apply(req.Key)
		return acquire(ctx, req)
	}
	w.extend = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
		c.apply(req.Key)
		return extend(ctx, req)
	}
}

// resent replaces what an acquire by the present owner does.
func resent(m *memlock.Backend, do func(context.Context, lock.Request) (lock.Grant, error)) func(context.Context, lock.Request) (lock.Grant, error) {
	return func(ctx context.Context, req lock.Request) (lock.Grant, error) {
		if now := state(m, req.Key); now.State == lock.StateHeld && now.Nonce == req.Nonce {
			return do(ctx, req)
		}
		return m.Acquire(ctx, req)
	}
}

func brokenOwnership() []brokenBackend {
	return []brokenBackend{
		mistake("OneOwner", "grants to everybody", func(w *wrong, m *memlock.Backend) {
			w.acquire = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
				if now := state(m, req.Key); now.Nonce != req.Nonce {
					_ = m.Break(ctx, req.Key)
				}
				return m.Acquire(ctx, req)
			}
		}),
		mistake("OneOwnerOfMany", "looks first and takes then", func(w *wrong, m *memlock.Backend) {
			w.acquire = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
				if now := state(m, req.Key); now.State == lock.StateAbsent {
					time.Sleep(time.Millisecond)
					_ = m.Break(ctx, req.Key)
				}
				return m.Acquire(ctx, req)
			}
		}),
		mistake("RefusalTellsRemaining", "does not tell what remains", func(w *wrong, m *memlock.Backend) {
			w.acquire = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
				g, err := m.Acquire(ctx, req)
				if held, ok := errors.AsType[*lock.HeldError](err); ok {
					held.Remaining = 0
				}
				return g, err
			}
		}),
		mistake("RefusalTellsRemaining", "tells the asker's TTL as what remains", func(w *wrong, m *memlock.Backend) {
			w.acquire = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
				g, err := m.Acquire(ctx, req)
				if held, ok := errors.AsType[*lock.HeldError](err); ok {
					held.Remaining = req.TTL
				}
				return g, err
			}
		}),
		mistake("RefusalChangesNothing", "arms the owner's TTL when it notes a waiter", func(w *wrong, m *memlock.Backend) {
			w.acquire = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
				g, err := m.Acquire(ctx, req)
				if errors.Is(err, lock.ErrNotAcquired) && req.Waiting {
					_, _ = m.Extend(ctx, lock.Request{Key: req.Key, Nonce: state(m, req.Key).Nonce, TTL: 250 * time.Millisecond})
				}
				return g, err
			}
		}),
		mistake("NoncesCompareWhole", "compares nonces by their beginning", func(w *wrong, m *memlock.Backend) {
			w.release = func(ctx context.Context, req lock.ReleaseRequest) error {
				if now := state(m, req.Key); strings.HasPrefix(now.Nonce, req.Nonce) {
					req.Nonce = now.Nonce
				}
				return m.Release(ctx, req)
			}
		}),
		mistake("NoncesCompareWhole", "compares nonces by what their end holds", func(w *wrong, m *memlock.Backend) {
			w.extend = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
				if now := state(m, req.Key); now.Nonce != "" && strings.HasSuffix(req.Nonce, now.Nonce) {
					req.Nonce = now.Nonce
				}
				return m.Extend(ctx, req)
			}
		}),
		mistake("NoncesCompareWhole", "folds the case of nonces", func(w *wrong, m *memlock.Backend) {
			w.acquire = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
				if now := state(m, req.Key); strings.EqualFold(now.Nonce, req.Nonce) {
					req.Nonce = now.Nonce
				}
				return m.Acquire(ctx, req)
			}
		}),
		mistake("ResendIsOurs", "refuses a resent acquire", func(w *wrong, m *memlock.Backend) {
			w.acquire = resent(m, func(_ context.Context, req lock.Request) (lock.Grant, error) {
				return lock.Grant{}, &lock.HeldError{Key: req.Key, Remaining: state(m, req.Key).Remaining}
			})
		}),
		mistake("ResendIsOurs", "reserves new fences for a resent acquire", func(w *wrong, m *memlock.Backend) {
			w.acquire = resent(m, m.Extend)
		}),
		mistake("ResendArmsFullTTL", "does not arm the TTL for a resent acquire", func(w *wrong, m *memlock.Backend) {
			w.acquire = resent(m, func(_ context.Context, req lock.Request) (lock.Grant, error) {
				return lock.Grant{Fence: state(m, req.Key).Fence, Block: req.Block}, nil
			})
		}),
		mistake("ResendNeverShortens", "lets a late copy of the acquire shorten the lease", func(w *wrong, m *memlock.Backend) {
			c := &cuts{m: m}
			w.acquire = resent(m, func(ctx context.Context, req lock.Request) (lock.Grant, error) {
				c.cut(req.Key, req.TTL)
				return m.Acquire(ctx, req)
			})
			c.watch(w)
		}),
	}
}

func brokenExpiry() []brokenBackend {
	return []brokenBackend{
		mistake("ExpiryFrees", "stores without an expiry", func(w *wrong, m *memlock.Backend) {
			w.acquire = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
				req.TTL = max(req.TTL, lock.MaxTTL)
				return m.Acquire(ctx, req)
			}
		}),
		mistake("ExpiryIsNotEarly", "ends leases at half their TTL", func(w *wrong, m *memlock.Backend) {
			c := &cuts{m: m}
			w.acquire = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
				g, err := m.Acquire(ctx, req)
				if err == nil {
					c.cut(req.Key, req.TTL/2)
				}
				return g, err
			}
			c.watch(w)
		}),
		mistake("FractionsRoundUp", "cuts the TTL of an acquire to milliseconds", func(w *wrong, m *memlock.Backend) {
			w.acquire = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
				req.TTL = req.TTL.Truncate(time.Millisecond)
				return m.Acquire(ctx, req)
			}
		}),
		mistake("FractionsRoundUp", "cuts the TTL of an extend to milliseconds", func(w *wrong, m *memlock.Backend) {
			w.extend = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
				req.TTL = req.TTL.Truncate(time.Millisecond)
				return m.Extend(ctx, req)
			}
		}),
		mistake("FractionsRoundUp", "cuts the time to keep a key to milliseconds", func(w *wrong, m *memlock.Backend) {
			w.release = func(ctx context.Context, req lock.ReleaseRequest) error {
				req.Keep = req.Keep.Truncate(time.Millisecond)
				return m.Release(ctx, req)
			}
		}),
		mistake("SpentNonceIsForgotten", "ignores the expiry of what a release leaves", func(w *wrong, m *memlock.Backend) {
			w.release = func(ctx context.Context, req lock.ReleaseRequest) error {
				req.TTL = max(req.TTL, lock.MaxTTL)
				return m.Release(ctx, req)
			}
		}),
		mistake("SpentNonceIsForgotten", "ignores the expiry of what a compensation leaves", func(w *wrong, m *memlock.Backend) {
			w.release = func(ctx context.Context, req lock.ReleaseRequest) error {
				if req.Compensate {
					req.TTL = max(req.TTL, lock.MaxTTL)
				}
				return m.Release(ctx, req)
			}
		}),
		mistake("EverythingExpires", "loses the expiry when it notes a waiter", func(w *wrong, m *memlock.Backend) {
			w.acquire = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
				g, err := m.Acquire(ctx, req)
				if errors.Is(err, lock.ErrNotAcquired) && req.Waiting {
					_, _ = m.Extend(ctx, lock.Request{Key: req.Key, Nonce: state(m, req.Key).Nonce, TTL: lock.MaxTTL})
				}
				return g, err
			}
		}),
		mistake("EverythingExpires", "loses the expiry when it raises the fence", func(w *wrong, m *memlock.Backend) {
			w.raise = func(ctx context.Context, key, nonce string, fence uint64) error {
				_, _ = m.Extend(ctx, lock.Request{Key: key, Nonce: nonce, TTL: lock.MaxTTL})
				return m.Raise(ctx, key, nonce, fence)
			}
		}),
	}
}
