package integration_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/redistest"
	"github.com/semel-go/semel/lock"
)

// The holder is dead and tells nobody, and Redis has so many keys to sweep that
// it does not find the lock's for a while.
func TestWaiterBehindADeadHolder(t *testing.T) {
	t.Parallel()
	const (
		ttl    = time.Second
		others = 300_000
	)
	s := newSite(t)
	// Half of them expire while the test runs.
	fill := redis.NewScript(`
		for i = ARGV[1] + 1, ARGV[2] + 0 do
			redis.call('SET', 'other:' .. i, i, 'PX', 500 + (i * 7919) % 60000)
		end`)
	const step = 10_000
	for n := 0; n < others; n += step {
		require.ErrorIs(t, fill.Run(t.Context(), s.rdb, nil, n, n+step).Err(), redis.Nil)
	}
	l := newLocker(t, newClient(t, redis.Options{Addr: s.Addr()}), lock.Options{})
	warm(t, l)
	unlessStalled(t, ttl/5, func() error {
		holder := startDeputy(t, s.Addr(), ttl)
		fence := holder.acquire(t, "k")
		waiting := acquireLater(t.Context(), l, "k")
		eventually(t, "another waits", func() bool { return s.look(t, "k").Waiters })
		holder.kill()
		died := time.Now()
		got := await(t, waiting, "the dead holder's key")
		took := time.Since(died)
		require.NoError(t, got.err)
		require.Greater(t, got.lease.Fence(), fence)
		release(t, got.lease)
		if took > ttl+time.Second {
			return fmt.Errorf("a waiter got a dead holder's key after %v, its TTL is %v", took, ttl)
		}
		return nil
	})
	count, err := s.rdb.DBSize(t.Context()).Result()
	require.NoError(t, err)
	require.Greater(t, count, int64(others/2), "the other keys were there")
}

// A Redis that stands still for 60 ms, longer than its callers wait for an
// answer, leaves no key without an owner and nobody waiting for one.
func TestStallOfRedis(t *testing.T) {
	t.Parallel()
	const (
		stalls  = 15
		callers = 4
	)
	s := newSite(t)
	for _, face := range faces() {
		t.Run(face.name, func(t *testing.T) {
			var lockers []*lock.Locker
			for range 2 {
				lockers = append(lockers, newLocker(t, face.of(t, newClient(t, redis.Options{Addr: s.Addr()})),
					lock.Options{Timeout: 30 * time.Millisecond, Wait: lock.WaitForever}))
			}
			ctx, cancel := context.WithTimeout(t.Context(), soon)
			defer cancel()
			var over atomic.Bool
			var work sync.WaitGroup
			var rounds atomic.Int64
			for i := range len(lockers) * callers {
				work.Go(func() {
					for !over.Load() {
						lease, err := lockers[i%len(lockers)].Acquire(ctx, face.name)
						if err != nil {
							t.Errorf("Acquire: %v", err) // stranded, if its context has ended
							return
						}
						if !giveBack(t, ctx, lease) {
							return
						}
						rounds.Add(1)
					}
				})
			}
			for range stalls {
				before := rounds.Load()
				s.Pause()
				time.Sleep(60 * time.Millisecond)
				s.Resume()
				eventually(t, "they go on after the stall", func() bool { return rounds.Load() > before || t.Failed() })
			}
			over.Store(true)
			work.Wait()
			t.Logf("%d rounds", rounds.Load())
		})
	}
	s.noneHeld(t)
}

// giveBack releases a lease until the store has answered.
func giveBack(t *testing.T, ctx context.Context, lease *lock.Lease) bool {
	err := lease.Release(ctx)
	for errors.Is(err, lock.ErrUnavailable) && ctx.Err() == nil {
		err = lease.Release(ctx)
	}
	// If a release arrived without its answer, another may have the key by now.
	if err != nil && !errors.Is(err, lock.ErrLost) {
		t.Errorf("Release: %v", err)
		return false
	}
	return true
}

// Connections are killed under load, those that ask and those that listen:
// nobody waits for what it did not hear, least of all when nobody comes after it.
func TestKilledConnections(t *testing.T) {
	t.Parallel()
	const (
		bursts  = 12
		callers = 6 // of each Locker
		keys    = 3
	)
	s := newSite(t)
	var lockers []*lock.Locker
	for _, face := range faces() {
		lockers = append(lockers, newLocker(t, face.of(t, newClient(t, redis.Options{Addr: s.Addr()})),
			lock.Options{Wait: lock.WaitForever}))
	}
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	var rounds atomic.Int64
	kill := func(kind string) {
		t.Helper()
		before := rounds.Load()
		s.MustDo("CLIENT", "KILL", "TYPE", kind)
		eventually(t, "they go on with other connections", func() bool { return rounds.Load() > before || t.Failed() })
	}
	for range bursts {
		var over atomic.Bool
		var work sync.WaitGroup
		for i := range len(lockers) * callers {
			work.Go(func() {
				for !over.Load() {
					lease, err := lockers[i%len(lockers)].Acquire(ctx, fmt.Sprint("k", rand.N(keys)))
					if err != nil {
						t.Errorf("Acquire: %v", err) // stranded, if its context has ended
						return
					}
					time.Sleep(rand.N(time.Millisecond)) // so that others come to wait
					if !giveBack(t, ctx, lease) {
						return
					}
					rounds.Add(1)
				}
			})
		}
		kill("pubsub")
		kill("normal")
		kill("normal")
		s.MustDo("CLIENT", "KILL", "TYPE", "pubsub")
		over.Store(true)
		work.Wait()
	}
	s.noneHeld(t)
	t.Logf("%d rounds", rounds.Load())
}

// What was released while a waiter was cut off it learns when it listens again.
func TestReleaseWhileTheWaiterIsCutOff(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	holder := newLocker(t, s.rdb, lock.Options{})
	l := newLocker(t, newClient(t, redis.Options{Addr: s.proxy.Addr()}), lock.Options{})
	listening := func() bool { return len(s.rdb.PubSubChannels(t.Context(), "*").Val()) > 0 }
	acquiring := calls(t, "acquire")
	for range 3 {
		var asked atomic.Int32
		s.proxy.OnRequest(func(args []string) redistest.Action {
			if acquiring(args) {
				asked.Add(1)
			}
			return redistest.Action{}
		})
		lease := acquire(t, holder, "k")
		waiting := acquireLater(t.Context(), l, "k")
		eventually(t, "the waiter listens and has asked again", func() bool { return listening() && asked.Load() > 1 })
		s.proxy.Refuse()
		eventually(t, "it hears nothing", func() bool { return !listening() })
		release(t, lease)
		s.proxy.Pass()
		got := await(t, waiting, "the key that was released unheard")
		require.NoError(t, got.err)
		release(t, got.lease)
		eventually(t, "it listens no more", func() bool { return !listening() })
	}
}

// Two processes hand a key over to each other: by word of mouth, since nobody
// here lives to see a TTL's end.
func TestHandOverBetweenProcesses(t *testing.T) {
	t.Parallel()
	const (
		turns = 20
		times = 100
	)
	s := newSite(t)
	here := newLocker(t, newClient(t, redis.Options{Addr: s.Addr()}), lock.Options{})
	there := startDeputy(t, s.Addr(), long)
	anotherWaits := func() {
		t.Helper()
		eventually(t, "another waits", func() bool { return s.look(t, "turns").Waiters })
	}
	lease := acquire(t, here, "turns")
	for range turns {
		there.tell(t, "acquire", "turns")
		anotherWaits()
		release(t, lease)
		fence, err := strconv.ParseUint(there.answer(t), 10, 64)
		require.NoError(t, err)
		require.Greater(t, fence, lease.Fence())

		waiting := acquireLater(t.Context(), here, "turns")
		anotherWaits()
		there.tell(t, "release")
		require.Equal(t, "ok", there.answer(t))
		got := await(t, waiting, "the key that another process gave back")
		require.NoError(t, got.err)
		require.Greater(t, got.lease.Fence(), fence)
		lease = got.lease
	}
	release(t, lease)

	// And as fast as they can.
	there.tell(t, "relay", "k", times)
	ours := relay(t.Context(), here, "k", times)
	fences := strings.Fields(ours + " " + there.answer(t))
	require.Len(t, fences, 2*times, "%q", fences)
	seen := map[string]bool{}
	for _, fence := range fences {
		require.False(t, seen[fence], "fence %v was given out twice", fence)
		seen[fence] = true
	}
	require.Empty(t, s.held(t))
}

// Fifty processes wait for one key, and cost the store little.
func TestCommandsOfWaiters(t *testing.T) {
	t.Parallel()
	const (
		waiters = 50
		hold    = 2 * time.Second
	)
	s := newSite(t)
	holder := newLocker(t, s.rdb, lock.Options{})
	var lockers []*lock.Locker
	for range waiters {
		lockers = append(lockers, newLocker(t, newClient(t, redis.Options{Addr: s.proxy.Addr()}), lock.Options{}))
	}
	// queue lets all of them wait, in their own time, and then take the key once.
	queue := func(released func()) {
		t.Helper()
		lease := acquire(t, holder, "k")
		var all sync.WaitGroup
		for _, l := range lockers {
			all.Go(func() {
				lease, err := l.Acquire(t.Context(), "k")
				if err != nil {
					t.Errorf("Acquire: %v", err)
					return
				}
				if err := lease.Release(t.Context()); err != nil {
					t.Errorf("Release: %v", err)
				}
			})
			time.Sleep(hold / waiters / 4) // no two processes begin at once
		}
		released()
		release(t, lease)
		all.Wait()
		require.False(t, t.Failed())
	}
	queue(func() { // their connections are made
		eventually(t, "all listen", func() bool { return s.proxy.Count("SUBSCRIBE") == waiters })
	})
	// work is what was asked of the store, but for the connections themselves.
	work := func() (asked, all int) {
		for name, n := range s.proxy.Counts() {
			switch name {
			case "HELLO", "CLIENT", "PING":
			case "SUBSCRIBE", "UNSUBSCRIBE":
				all += n
			default:
				asked, all = asked+n, all+n
			}
		}
		return asked, all
	}
	allowed := 0
	for still := range waiters {
		allowed += 2 + still // the grant's own two, and an ask of each that still waits
	}
	unlessStalled(t, 40*time.Millisecond, func() error {
		var before int
		var counts map[string]int
		s.proxy.ResetCounts()
		over := time.After(hold)
		queue(func() {
			<-over
			_, before = work()
			counts = s.proxy.Counts()
			s.proxy.ResetCounts()
		})
		after, _ := work()
		t.Logf("before the release %v, after it %v", counts, s.proxy.Counts())
		require.GreaterOrEqual(t, after, 2*waiters, "the proxy saw them")
		if before > 3*waiters {
			return fmt.Errorf("%d waiters sent %d commands until the release: %v", waiters, before, counts)
		}
		// All had heard that they listen: from then on nobody asks unless told.
		require.LessOrEqual(t, after, allowed, "requests of %d waiters after the release", waiters)
		return nil
	})
}
