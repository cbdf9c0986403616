package locktest_test

import (
	"context"
	"errors"

	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/lock/memlock"
)

func brokenRelease() []brokenBackend {
	return []brokenBackend{
		mistake("ReleaseFrees", "keeps every key until its TTL is over", func(w *wrong, m *memlock.Backend) {
			w.release = func(ctx context.Context, req lock.ReleaseRequest) error {
				req.Keep = max(req.Keep, req.TTL)
				return m.Release(ctx, req)
			}
		}),
		mistake("ReleaseByOtherIsTaken", "releases whoever the owner is", func(w *wrong, m *memlock.Backend) {
			w.release = func(ctx context.Context, req lock.ReleaseRequest) error {
				if now := state(m, req.Key); now.State == lock.StateHeld {
					req.Nonce = now.Nonce
				}
				return m.Release(ctx, req)
			}
		}),
		mistake("ReleaseByOtherIsTaken", "says nothing of a release by another", func(w *wrong, m *memlock.Backend) {
			w.release = func(ctx context.Context, req lock.ReleaseRequest) error {
				if err := m.Release(ctx, req); !errors.Is(err, lock.ErrTaken) {
					return err
				}
				return nil
			}
		}),
		mistake("ReleaseOfAbsentIsExpired", "says nothing of a release of what is gone", func(w *wrong, m *memlock.Backend) {
			w.release = func(ctx context.Context, req lock.ReleaseRequest) error {
				if err := m.Release(ctx, req); !errors.Is(err, lock.ErrExpired) || state(m, req.Key).State != lock.StateAbsent {
					return err
				}
				return nil
			}
		}),
		mistake("ReleaseAfterOthersIsExpired", "takes another's spent nonce for its own", func(w *wrong, m *memlock.Backend) {
			w.release = func(ctx context.Context, req lock.ReleaseRequest) error {
				if err := m.Release(ctx, req); !errors.Is(err, lock.ErrExpired) || state(m, req.Key).State != lock.StateFree {
					return err
				}
				return nil
			}
		}),
		mistake("ReleaseTwiceSucceeds", "forgets who released", func(w *wrong, m *memlock.Backend) {
			w.release = func(ctx context.Context, req lock.ReleaseRequest) error {
				if now := state(m, req.Key); now.State == lock.StateFree && now.Nonce == req.Nonce {
					return lock.ErrExpired
				}
				return m.Release(ctx, req)
			}
		}),
		mistake("SpentNonceIsRefused", "grants to a spent nonce", func(w *wrong, m *memlock.Backend) {
			w.acquire = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
				g, err := m.Acquire(ctx, req)
				if errors.Is(err, lock.ErrSpent) {
					req.Nonce += "again"
					g, err = m.Acquire(ctx, req)
				}
				return g, err
			}
		}),
		mistake("KeptIsNotGranted", "does not keep keys", func(w *wrong, m *memlock.Backend) {
			w.release = func(ctx context.Context, req lock.ReleaseRequest) error {
				req.Keep = 0
				return m.Release(ctx, req)
			}
		}),
		mistake("KeptIsNotGranted", "keeps keys no longer than their TTL", func(w *wrong, m *memlock.Backend) {
			w.release = func(ctx context.Context, req lock.ReleaseRequest) error {
				req.Keep = min(req.Keep, state(m, req.Key).Remaining)
				return m.Release(ctx, req)
			}
		}),
		mistake("KeptEnds", "keeps keys for at least what remains of their TTL", func(w *wrong, m *memlock.Backend) {
			w.release = func(ctx context.Context, req lock.ReleaseRequest) error {
				if now := state(m, req.Key); req.Keep > 0 {
					req.Keep = max(req.Keep, now.Remaining)
				}
				return m.Release(ctx, req)
			}
		}),
		mistake("KeptCannotBeExtended", "extends what is kept", func(w *wrong, m *memlock.Backend) {
			w.extend = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
				if now := state(m, req.Key); now.State == lock.StateKept && now.Nonce == req.Nonce {
					return lock.Grant{}, nil
				}
				return m.Extend(ctx, req)
			}
		}),
		mistake("KeptCannotBeFreed", "frees what is kept at a second release", func(w *wrong, m *memlock.Backend) {
			w.release = func(ctx context.Context, req lock.ReleaseRequest) error {
				if now := state(m, req.Key); now.State == lock.StateKept && now.Nonce == req.Nonce {
					_ = m.Break(ctx, req.Key)
				}
				return m.Release(ctx, req)
			}
		}),
		mistake("KeptCannotBeFreed", "takes what is kept for free when it compensates", func(w *wrong, m *memlock.Backend) {
			w.release = func(ctx context.Context, req lock.ReleaseRequest) error {
				if now := state(m, req.Key); now.State == lock.StateKept && req.Compensate {
					_ = m.Break(ctx, req.Key)
				}
				return m.Release(ctx, req)
			}
		}),
	}
}

func brokenExtend() []brokenBackend {
	return []brokenBackend{
		mistake("ExtendProlongs", "says that it extended and does not", func(w *wrong, m *memlock.Backend) {
			w.extend = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
				req.TTL = lock.MinTTL
				return m.Extend(ctx, req)
			}
		}),
		mistake("ExtendArmsTTL", "adds the TTL to what remains", func(w *wrong, m *memlock.Backend) {
			w.extend = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
				req.TTL += state(m, req.Key).Remaining
				return m.Extend(ctx, req)
			}
		}),
		mistake("ExtendNeverShortens", "arms a TTL shorter than what remains", func(w *wrong, m *memlock.Backend) {
			c := &cuts{m: m}
			w.extend = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
				g, err := m.Extend(ctx, req)
				if err == nil {
					c.cut(req.Key, req.TTL)
				}
				return g, err
			}
			c.watch(w)
		}),
		mistake("ExtendNeverRevives", "takes the key again when it extends too late", func(w *wrong, m *memlock.Backend) {
			w.extend = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
				if state(m, req.Key).State == lock.StateAbsent {
					req.Block = max(req.Block, 1)
					return m.Acquire(ctx, req)
				}
				return m.Extend(ctx, req)
			}
		}),
		mistake("ExtendNeverRevives", "takes the key again when it extends after the release", func(w *wrong, m *memlock.Backend) {
			w.extend = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
				if now := state(m, req.Key); now.State == lock.StateFree && now.Nonce == req.Nonce {
					req.Block, req.Nonce = max(req.Block, 1), req.Nonce+"again"
					return m.Acquire(ctx, req)
				}
				return m.Extend(ctx, req)
			}
		}),
		mistake("ExtendByOtherIsTaken", "extends whoever the owner is", func(w *wrong, m *memlock.Backend) {
			w.extend = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
				if now := state(m, req.Key); now.State == lock.StateHeld {
					req.Nonce = now.Nonce
				}
				return m.Extend(ctx, req)
			}
		}),
		mistake("ExtendWithoutBlockReservesNone", "reserves a fence with each extend", func(w *wrong, m *memlock.Backend) {
			w.extend = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
				req.Block = max(req.Block, 1)
				return m.Extend(ctx, req)
			}
		}),
	}
}

func brokenCompensation() []brokenBackend {
	return []brokenBackend{
		mistake("CompensationSpendsNonce", "leaves nothing when it compensates", func(w *wrong, m *memlock.Backend) {
			w.release = func(ctx context.Context, req lock.ReleaseRequest) error {
				compensate := req.Compensate
				req.Compensate = false
				if err := m.Release(ctx, req); !compensate || !errors.Is(err, lock.ErrExpired) {
					return err
				}
				return nil
			}
		}),
		mistake("CompensationIsInvisible", "keeps the key from all when it compensates", func(w *wrong, m *memlock.Backend) {
			w.release = func(ctx context.Context, req lock.ReleaseRequest) error {
				if req.Compensate && state(m, req.Key).State == lock.StateAbsent {
					_, _ = m.Acquire(ctx, lock.Request{Key: req.Key, Nonce: req.Nonce, TTL: req.TTL, Block: 1})
					req.Keep = req.TTL
				}
				return m.Release(ctx, req)
			}
		}),
		mistake("CompensationFreesOwn", "compensates only what is absent", func(w *wrong, m *memlock.Backend) {
			w.release = func(ctx context.Context, req lock.ReleaseRequest) error {
				if now := state(m, req.Key); req.Compensate && now.State == lock.StateHeld && now.Nonce == req.Nonce {
					return nil
				}
				return m.Release(ctx, req)
			}
		}),
		mistake("CompensationLeavesOthers", "spends the nonce whoever the owner is", func(w *wrong, m *memlock.Backend) {
			w.release = func(ctx context.Context, req lock.ReleaseRequest) error {
				if req.Compensate {
					_ = m.Break(ctx, req.Key)
				}
				return m.Release(ctx, req)
			}
		}),
		mistake("CompensationOnFree", "does not spend the nonce where another's is spent", func(w *wrong, m *memlock.Backend) {
			w.release = func(ctx context.Context, req lock.ReleaseRequest) error {
				if state(m, req.Key).State == lock.StateFree && req.Compensate {
					return nil
				}
				return m.Release(ctx, req)
			}
		}),
	}
}
