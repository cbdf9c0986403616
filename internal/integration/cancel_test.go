package integration_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/redistest"
	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/observe"
)

// Who gives a key back because its context has ended must succeed in that.
func TestReleaseWithADeadContext(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, face := range faces() {
		t.Run(face.name, func(t *testing.T) {
			l := newLocker(t, face.of(t, newClient(t, redis.Options{Addr: s.Addr(), ContextTimeoutEnabled: true})), lock.Options{})
			other := newLocker(t, s.rdb, lock.Options{})
			key := t.Name()

			ctx, cancel := context.WithCancel(t.Context())
			lease, err := l.Acquire(ctx, key)
			require.NoError(t, err)
			cancel()
			require.True(t, lease.Valid(), "its context bounds the acquiring alone")
			require.NoError(t, lease.Release(ctx))
			require.Equal(t, lock.StateFree, s.look(t, key).State)
			release(t, acquire(t, other, key))

			ctx, cancel = context.WithCancel(t.Context())
			err = l.Do(ctx, key, func(ctx context.Context) error {
				cancel()
				<-ctx.Done()
				return context.Cause(ctx)
			})
			require.Equal(t, context.Canceled, err)
			require.Equal(t, lock.StateFree, s.look(t, key).State)
		})
	}
}

// The deadline fires while the reply to an acquire is under way: the key is
// held by nobody. As soon as the client has got its reply it is not held at all.
func TestDeadlineWhileTheReplyIsUnderWay(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	acquiring := calls(t, "acquire")
	for _, face := range faces() {
		t.Run(face.name, func(t *testing.T) {
			const late = 300 * time.Millisecond
			key := t.Name()
			d := &diary{}
			l := newLocker(t, face.of(t, newClient(t, redis.Options{Addr: s.proxy.Addr()})), lock.Options{Observer: d})
			warm(t, l)
			s.proxy.OnRequest(func(args []string) redistest.Action {
				if acquiring(args) {
					return redistest.Action{ReplyDelay: late}
				}
				return redistest.Action{}
			})
			defer s.proxy.OnRequest(nil)
			for i, ending := range []func() (context.Context, context.CancelFunc){
				func() (context.Context, context.CancelFunc) {
					return context.WithTimeout(t.Context(), late/5)
				},
				func() (context.Context, context.CancelFunc) {
					ctx, cancel := context.WithCancel(t.Context())
					time.AfterFunc(late/5, cancel)
					return ctx, cancel
				},
			} {
				ctx, cancel := ending()
				_, err := l.Acquire(ctx, key)
				require.ErrorIs(t, err, ctx.Err())
				require.ErrorIs(t, err, lock.ErrUnavailable)
				cancel()
				eventually(t, "it is undone", func() bool { return len(d.of(observe.Compensated)) == i+1 })
				require.Empty(t, s.held(t))
			}
			s.proxy.OnRequest(nil)
			release(t, acquire(t, l, key))
		})
	}
}

// When the store cannot be told, either, what nobody owns is gone after one
// TTL.
func TestUndoneByTheTTLAtTheLatest(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, face := range faces() {
		t.Run(face.name, func(t *testing.T) {
			const ttl = time.Second
			acquiring := calls(t, "acquire")
			rdb := newClient(t, redis.Options{Addr: s.proxy.Addr(), ReadTimeout: 100 * time.Millisecond, MaxRetries: 1})
			l := newLocker(t, face.of(t, rdb), lock.Options{TTL: ttl})
			warm(t, l)
			arrived := make(chan struct{}, 10)
			s.proxy.OnRequest(func(args []string) redistest.Action {
				if acquiring(args) {
					arrived <- struct{}{}
				}
				return redistest.Action{}
			})
			s.proxy.HalfOpen()
			defer s.proxy.Pass()
			ctx, cancel := context.WithCancel(t.Context())
			waiting := acquireLater(ctx, l, t.Name())
			await(t, arrived, "the acquire")
			eventually(t, "the key is held", func() bool { return len(s.held(t)) == 1 })
			require.LessOrEqual(t, s.look(t, t.Name()).Remaining, ttl)
			s.proxy.OnRequest(nil)
			s.proxy.Refuse() // nothing more arrives
			cancel()
			got := await(t, waiting, "the acquire")
			require.ErrorIs(t, got.err, context.Canceled)
			eventually(t, "no key is left", func() bool { return s.MustDo("EXISTS", lockPrefix+t.Name()) == int64(0) })
			s.proxy.Pass()
		})
	}
}

// Ten thousand loops whose contexts end at any moment leave nothing behind, and
// at no time is there a key without an expiry, or a second owner.
func TestRandomCancels(t *testing.T) {
	t.Parallel()
	const (
		loops   = 10_000
		callers = 48
		keys    = 12
		ttl     = 2 * time.Second
	)
	s := newSite(t)
	var lockers []*lock.Locker
	for _, face := range faces() {
		l, err := lock.New(newBackend(t, face.of(t, newClient(t, redis.Options{Addr: s.Addr()}))),
			patient(lock.Options{TTL: ttl}))
		require.NoError(t, err)
		lockers = append(lockers, l)
	}

	watched, stop := context.WithCancel(t.Context())
	var watch, work sync.WaitGroup
	watch.Go(func() {
		for watched.Err() == nil {
			name, err := s.forever(watched)
			if err != nil && watched.Err() == nil {
				t.Errorf("looking for keys without a TTL: %v", err)
				return
			}
			if name != "" {
				t.Errorf("%q has no TTL", name)
				return
			}
		}
	})
	var left, owned, cut, unnamed atomic.Int64
	var owners [keys]atomic.Pointer[lock.Lease]
	left.Store(loops)
	for i := range callers {
		work.Go(func() {
			for left.Add(-1) >= 0 {
				n := rand.N(keys)
				ctx, cancel := context.WithCancel(t.Context())
				if rand.N(4) > 0 {
					defer time.AfterFunc(rand.N(8*time.Millisecond), cancel).Stop()
				}
				lease, err := lockers[i%len(lockers)].Acquire(ctx, fmt.Sprint("k", n))
				if err != nil {
					if ctx.Err() == nil {
						t.Errorf("Acquire, its context alive: %v", err)
					} else if !errors.Is(err, context.Canceled) {
						unnamed.Add(1)
					}
					cut.Add(1)
					cancel()
					continue
				}
				owned.Add(1)
				if before := owners[n].Swap(lease); before != nil && before.Valid() && lease.Valid() {
					t.Errorf("two owners of one key, with the fences %d and %d", before.Fence(), lease.Fence())
				}
				cancel()
				owners[n].CompareAndSwap(lease, nil)
				if err := lease.Release(ctx); err != nil && !errors.Is(err, lock.ErrLost) {
					t.Errorf("Release: %v", err)
				}
			}
		})
	}
	work.Wait()
	for _, l := range lockers {
		closeLocker(t, l)
	}
	closed := time.Now()
	require.Empty(t, s.held(t))
	time.Sleep(time.Until(closed.Add(2 * ttl)))
	stop()
	watch.Wait()
	require.Empty(t, s.MustDo("KEYS", "*"), "after two TTLs nothing is left")
	eventually(t, "not even to be swept", func() bool { return s.MustDo("DBSIZE") == int64(0) })
	require.Zero(t, unnamed.Load(), "errors that do not match that of the context, which ended the wait")
	require.Greater(t, owned.Load(), int64(loops/20))
	require.Greater(t, cut.Load(), int64(loops/20))
	t.Logf("%d acquired, %d cut short", owned.Load(), cut.Load())
}
