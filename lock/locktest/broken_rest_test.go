package locktest_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/lock/memlock"
)

// byKey is a backend that takes keys for others.
func byKey(law, name string, other func(key string) string) brokenBackend {
	return mistake(law, name, func(w *wrong, m *memlock.Backend) {
		w.acquire = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
			req.Key = other(req.Key)
			return m.Acquire(ctx, req)
		}
		w.extend = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
			req.Key = other(req.Key)
			return m.Extend(ctx, req)
		}
		w.release = func(ctx context.Context, req lock.ReleaseRequest) error {
			req.Key = other(req.Key)
			return m.Release(ctx, req)
		}
	})
}

func folded(key string) string { return strings.ToLower(key) }

func untilNUL(key string) string {
	if head, _, _ := strings.Cut(key, "\x00"); head != "" {
		return head
	}
	return key
}

func braced(key string) string {
	_, rest, ok := strings.Cut(key, "{")
	if tag, _, closed := strings.Cut(rest, "}"); ok && closed && tag != "" {
		return tag
	}
	return key
}

// filter is a listener that lets through only what hear says.
type filter struct {
	lock.Listener
	mu      sync.Mutex
	told    map[string]int
	unwatch func(key string)
	close   func() error
}

func (f *filter) Unwatch(key string) {
	if f.unwatch != nil {
		f.unwatch(key)
	}
	f.Listener.Unwatch(key)
}

func (f *filter) Close() error {
	if f.close != nil {
		return f.close()
	}
	return f.Listener.Close()
}

// filtered returns a listener that is told of a key only if hear says so, given
// how often it would have been told of it before.
func filtered(m *memlock.Backend, notify func(string), hear func(key string, before int) bool) *filter {
	f := &filter{told: map[string]int{}}
	f.Listener = m.Listen(func(key string) {
		f.mu.Lock()
		before := f.told[key]
		f.told[key]++
		f.mu.Unlock()
		if hear(key, before) {
			notify(key)
		}
	})
	return f
}

// deafTo replaces the listener by one that hears of a key only if hear says so,
// given how often it would have heard of it before.
func deafTo(hear func(before int) bool) func(*wrong, *memlock.Backend) {
	return func(w *wrong, m *memlock.Backend) {
		w.listen = func(notify func(string)) lock.Listener {
			return filtered(m, notify, func(_ string, before int) bool { return hear(before) })
		}
	}
}

func brokenWaiting() []brokenBackend {
	return []brokenBackend{
		mistake("OwnerLearnsOfWaiters", "forgets that somebody waits", func(w *wrong, m *memlock.Backend) {
			w.acquire = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
				req.Waiting = false
				return m.Acquire(ctx, req)
			}
		}),
		mistake("OwnerLearnsOfWaiters", "takes everybody for a waiter", func(w *wrong, m *memlock.Backend) {
			w.acquire = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
				req.Waiting = true
				return m.Acquire(ctx, req)
			}
		}),
		mistake("ListenerHearsThatItListens", "does not say when it listens", deafTo(func(before int) bool { return before > 0 })),
		mistake("ListenerHearsRelease", "does not hear releases", deafTo(func(before int) bool { return before == 0 })),
		mistake("ListenersAllHear", "stops listening for all when one does", func(w *wrong, m *memlock.Backend) {
			var deaf sync.Map
			w.listen = func(notify func(string)) lock.Listener {
				f := filtered(m, notify, func(key string, _ int) bool {
					_, ok := deaf.Load(key)
					return !ok
				})
				f.unwatch = func(key string) { deaf.Store(key, true) }
				return f
			}
		}),
		mistake("ListenerHearsBreak", "breaks without telling", func(w *wrong, m *memlock.Backend) {
			var deaf sync.Map
			w.listen = func(notify func(string)) lock.Listener {
				return filtered(m, notify, func(key string, _ int) bool {
					_, ok := deaf.Load(key)
					return !ok
				})
			}
			w.breaks = func(ctx context.Context, key string) error {
				deaf.Store(key, true)
				return m.Break(ctx, key)
			}
		}),
		{"ClosedListenerIsSilent", "goes on telling after it was closed", func(t *testing.T, m *memlock.Backend) lock.Backend {
			return &wrong{
				Backend: m, acquire: m.Acquire, extend: m.Extend, release: m.Release, look: m.Look,
				list: m.List, breaks: m.Break, raise: m.Raise,
				listen: func(notify func(string)) lock.Listener {
					f := &filter{Listener: m.Listen(notify), close: func() error { return nil }}
					t.Cleanup(func() { _ = f.Listener.Close() })
					return f
				},
			}
		}},
	}
}

func brokenRest() []brokenBackend {
	return []brokenBackend{
		{"FeaturesAreAsTold", "has lost all that is optional", func(_ *testing.T, m *memlock.Backend) lock.Backend {
			return struct{ lock.Backend }{m}
		}},
		byKey("LockerKeysAreApart", "has one lock for all keys", func(string) string { return "key" }),
		mistake("LockerWaiterGetsReleasedKey", "does not tell of releases",
			deafTo(func(before int) bool { return before == 0 })),
		mistake("LockerWaiterGetsDeadHoldersKey", "tells that a dead holder has a day left", func(w *wrong, m *memlock.Backend) {
			w.acquire = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
				g, err := m.Acquire(ctx, req)
				if held, ok := errors.AsType[*lock.HeldError](err); ok {
					held.Remaining = lock.MaxTTL
				}
				return g, err
			}
		}),
		mistake("BatchEqualsSingle", "fails a batch as a whole", func(w *wrong, m *memlock.Backend) {
			w.batch = func(ctx context.Context, reqs []lock.Request) ([]lock.Grant, []error) {
				grants, errs := m.ExtendBatch(ctx, reqs)
				for _, err := range errs {
					if err != nil {
						for i := range errs {
							errs[i] = err
						}
						break
					}
				}
				return grants, errs
			}
		}),
		mistake("BatchEqualsSingle", "hides failures in a batch", func(w *wrong, m *memlock.Backend) {
			w.batch = func(ctx context.Context, reqs []lock.Request) ([]lock.Grant, []error) {
				grants, _ := m.ExtendBatch(ctx, reqs)
				return grants, make([]error, len(reqs))
			}
		}),
		mistake("BatchEqualsSingle", "reserves no fences in a batch", func(w *wrong, m *memlock.Backend) {
			w.batch = func(ctx context.Context, reqs []lock.Request) ([]lock.Grant, []error) {
				none := make([]lock.Request, len(reqs))
				for i, req := range reqs {
					none[i] = lock.Request{Key: req.Key, Nonce: req.Nonce, TTL: req.TTL}
				}
				return m.ExtendBatch(ctx, none)
			}
		}),
		mistake("BatchProlongs", "extends only the first of a batch", func(w *wrong, m *memlock.Backend) {
			w.batch = func(ctx context.Context, reqs []lock.Request) ([]lock.Grant, []error) {
				grants, errs := make([]lock.Grant, len(reqs)), make([]error, len(reqs))
				grants[0], errs[0] = m.Extend(ctx, reqs[0])
				return grants, errs
			}
		}),
		mistake("LookTellsState", "takes what is kept for held", func(w *wrong, m *memlock.Backend) {
			w.look = func(ctx context.Context, key string) (lock.Info, error) {
				info, err := m.Look(ctx, key)
				if info.State == lock.StateKept {
					info.State = lock.StateHeld
				}
				return info, err
			}
		}),
		mistake("LookTellsState", "looks without telling what remains", func(w *wrong, m *memlock.Backend) {
			w.look = func(ctx context.Context, key string) (lock.Info, error) {
				info, err := m.Look(ctx, key)
				info.Remaining = 0
				return info, err
			}
		}),
		mistake("ListTellsAll", "lists only what is held", func(w *wrong, m *memlock.Backend) {
			w.list = func(ctx context.Context) iter.Seq2[lock.Info, error] {
				return func(yield func(lock.Info, error) bool) {
					for info, err := range m.List(ctx) {
						if info.State == lock.StateHeld && !yield(info, err) {
							return
						}
					}
				}
			}
		}),
		mistake("ListTellsAll", "lists the first page alone", func(w *wrong, m *memlock.Backend) {
			w.list = func(ctx context.Context) iter.Seq2[lock.Info, error] {
				return func(yield func(lock.Info, error) bool) {
					n := 0
					for info, err := range m.List(ctx) {
						if n++; n > 100 || !yield(info, err) {
							return
						}
					}
				}
			}
		}),
		mistake("BreakFrees", "breaks without spending the owner's nonce", func(w *wrong, m *memlock.Backend) {
			var broken sync.Map
			w.breaks = func(ctx context.Context, key string) error {
				broken.Store(state(m, key).Nonce, true)
				return m.Break(ctx, key)
			}
			w.acquire = func(ctx context.Context, req lock.Request) (lock.Grant, error) {
				if _, ok := broken.LoadAndDelete(req.Nonce); ok {
					req.Nonce += "again"
				}
				return m.Acquire(ctx, req)
			}
		}),
		mistake("BreakFrees", "does not break what is kept", func(w *wrong, m *memlock.Backend) {
			w.breaks = func(ctx context.Context, key string) error {
				if state(m, key).State == lock.StateKept {
					return nil
				}
				return m.Break(ctx, key)
			}
		}),
	}
}
