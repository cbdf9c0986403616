package redislock_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/redistest"
	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/lock/redislock"
)

// soon is how long a test waits for what must come.
const soon = 30 * time.Second

// ears counts what a Listener tells.
type ears struct {
	mu     sync.Mutex
	heard  map[string]int
	change chan struct{}
}

func newEars() *ears {
	return &ears{heard: map[string]int{}, change: make(chan struct{})}
}

func (e *ears) notify(key string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard[key]++
	close(e.change)
	e.change = make(chan struct{})
}

// await waits until key has been told and forgets it.
func (e *ears) await(t *testing.T, key string) {
	t.Helper()
	timeout := time.After(soon)
	for {
		e.mu.Lock()
		n, change := e.heard[key], e.change
		delete(e.heard, key)
		e.mu.Unlock()
		if n > 0 {
			return
		}
		select {
		case <-change:
		case <-timeout:
			t.Fatalf("nothing was told of %q", key)
		}
	}
}

// total is how much has been told.
func (e *ears) total() (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, k := range e.heard {
		n += k
	}
	return n
}

// contend makes somebody wait for a key that me holds.
func (s store) contend(t *testing.T, key, me string) {
	t.Helper()
	s.acquire(t, key, me)
	req := request(key, "waiter")
	req.Waiting = true
	_, err := s.Acquire(t.Context(), req)
	require.ErrorIs(t, err, lock.ErrNotAcquired)
}

func TestListenerTellsReleases(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s store) {
		heard := newEars()
		l := s.Listen(heard.notify)
		for _, key := range []string{"k", "\x00\xff", "{a}"} {
			l.Watch(key)
			l.Watch(key)
			heard.await(t, key)
			s.contend(t, key, "me")
			s.release(t, key, "me")
			heard.await(t, key)
		}
		l.Unwatch("k")
		require.NoError(t, l.Close())
		before := heard.total()
		s.contend(t, "{a}", "me2")
		s.release(t, "{a}", "me2")
		l.Watch("after")
		l.Unwatch("{a}")
		require.NoError(t, l.Close(), "closed again")
		require.Equal(t, before, heard.total(), "told after Close")
	})
}

func TestListenerOpensNothingUntilWatching(t *testing.T) {
	t.Parallel()
	mini := miniredis.RunT(t)
	s := connect(t, mini.Addr())
	l := s.Listen(func(string) { t.Error("told without watching") })
	l.Unwatch("k")
	require.NoError(t, l.Close())
	require.Zero(t, mini.CurrentConnectionCount())
}

// A key that is watched again before its Unwatch was sent is confirmed anew.
func TestListenerWatchedAgain(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s store) {
		heard := newEars()
		l := s.Listen(heard.notify)
		for range 200 {
			l.Watch("k")
			heard.await(t, "k")
			l.Unwatch("k")
		}
		require.NoError(t, l.Close())
	})
}

func TestListenerLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := connect(t, server.Addr())
	heard := newEars()
	l := s.Listen(heard.notify)
	const many = 10_000
	for i := range many {
		l.Watch(fmt.Sprint("k", i))
	}
	for i := range many {
		heard.await(t, fmt.Sprint("k", i))
	}
	require.Len(t, s.rdb.PubSubChannels(t.Context(), "*").Val(), many)
	for i := range many {
		l.Unwatch(fmt.Sprint("k", i))
	}
	require.Eventually(t, func() bool {
		return len(s.rdb.PubSubChannels(t.Context(), "*").Val()) == 0
	}, soon, time.Millisecond)
	l.Watch("still there")
	heard.await(t, "still there")
	require.NoError(t, l.Close())
	require.Eventually(t, func() bool {
		return len(s.rdb.PubSubChannels(t.Context(), "*").Val()) == 0
	}, soon, time.Millisecond)
}

func TestListenerReconnects(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := connect(t, server.Addr())
	heard := newEars()
	l := s.Listen(heard.notify)
	t.Cleanup(func() { _ = l.Close() })
	l.Watch("a")
	l.Watch("b")
	heard.await(t, "a")
	heard.await(t, "b")
	for range 5 {
		server.MustDo("CLIENT", "KILL", "TYPE", "pubsub")
		heard.await(t, "a")
		heard.await(t, "b")
	}
	// While the server is down, keys come and go.
	server.Kill()
	l.Watch("c")
	l.Unwatch("a")
	server.Restart()
	heard.await(t, "b")
	heard.await(t, "c")
	s.contend(t, "c", "me")
	s.release(t, "c", "me")
	heard.await(t, "c")
	require.Eventually(t, func() bool {
		return len(s.rdb.PubSubChannels(t.Context(), "*").Val()) == 2
	}, soon, time.Millisecond, "a is left")
}

// Connections are killed while keys are watched: none may be forgotten.
func TestListenerUnderFire(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := connect(t, server.Addr())
	heard := newEars()
	l := s.Listen(heard.notify)
	t.Cleanup(func() { _ = l.Close() })
	for i := range 300 {
		key := fmt.Sprint("k", i)
		l.Watch(key)
		if i%3 == 0 {
			server.MustDo("CLIENT", "KILL", "TYPE", "pubsub")
		}
		heard.await(t, key)
		if i%2 == 0 {
			l.Unwatch(key)
		}
	}
	require.Eventually(t, func() bool {
		return len(s.rdb.PubSubChannels(t.Context(), "*").Val()) == 150
	}, soon, 10*time.Millisecond)
}

// A connection that is open at this end alone is noticed.
func TestListenerNoticesSilence(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	s := connect(t, proxy.Addr())
	heard := newEars()
	l := s.Listen(heard.notify)
	t.Cleanup(func() { _ = l.Close() })
	l.Watch("k")
	heard.await(t, "k")
	proxy.HalfOpen()
	pings := proxy.Count("PING")
	require.Eventually(t, func() bool { return proxy.Count("PING") > pings+1 }, soon, time.Millisecond)
	proxy.Pass() // New connections work. The old one has lost an answer and stays dead.
	heard.await(t, "k")
}

// Close does not wait for a server that does not answer.
func TestListenerClosesWhileServerHangs(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), DialTimeout: time.Second, ReadTimeout: time.Second})
	t.Cleanup(func() { _ = rdb.Close() })
	b := backend(t, rdb, redislock.Options{})
	heard := newEars()
	standing := b.Listen(heard.notify)
	standing.Watch("k")
	heard.await(t, "k")
	opening := b.Listen(heard.notify)
	server.Pause()
	defer server.Resume()
	opening.Watch("k")
	start := time.Now()
	require.NoError(t, standing.Close())
	require.NoError(t, opening.Close())
	require.Less(t, time.Since(start), 20*time.Second)
}

func TestListenerOfCluster(t *testing.T) {
	t.Parallel()
	grid := redistest.StartCluster(t, 3)
	for name, client := range clusterFaces(t, grid) {
		t.Run(name, func(t *testing.T) {
			s := store{Backend: backend(t, client, redislock.Options{Prefix: name + ":"})}
			heard := newEars()
			l := s.Listen(heard.notify)
			for i := range 20 {
				key := fmt.Sprint("k", i)
				l.Watch(key)
				heard.await(t, key)
				s.contend(t, key, "me")
				s.release(t, key, "me")
				heard.await(t, key)
			}
			require.NoError(t, l.Close())
		})
	}
}
