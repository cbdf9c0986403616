package integration_test

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/redistest"
	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/lock/redislock"
	"github.com/semel-go/semel/observe"
)

const (
	// soon is how long a test waits for what must come, on a machine that has
	// very much else to do.
	soon = 2 * time.Minute
	// long is a TTL that no test lives to see the end of: whoever is stranded
	// until then is found out.
	long = 10 * time.Minute
	// lockPrefix begins the name of a lock's Redis key.
	lockPrefix = "semel:lock:"
)

// site is a Redis, a way to it that misbehaves, and one that does not.
type site struct {
	*redistest.Server
	proxy *redistest.Proxy
	rdb   *redis.Client      // straight to the server
	view  *redislock.Backend // on rdb: what an operator sees
}

func newSite(t *testing.T) *site {
	t.Helper()
	server := redistest.Start(t)
	rdb := newClient(t, redis.Options{Addr: server.Addr()})
	return &site{server, redistest.NewProxy(t, server.Addr()), rdb, newBackend(t, rdb)}
}

// newClient returns a client that is closed with the test.
func newClient(t *testing.T, o redis.Options) *redis.Client {
	t.Helper()
	rdb := redis.NewClient(&o)
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

func newBackend(t *testing.T, client redislock.Client) *redislock.Backend {
	t.Helper()
	b, err := redislock.New(client, redislock.Options{})
	require.NoError(t, err)
	return b
}

// newLocker returns a Locker that is closed with the test, and must have
// nothing under way then. By default nothing but what the test is about ends
// anything.
func newLocker(t *testing.T, client redislock.Client, o lock.Options) *lock.Locker {
	t.Helper()
	l, err := lock.New(newBackend(t, client), patient(o))
	require.NoError(t, err)
	t.Cleanup(func() { closeLocker(t, l) })
	return l
}

// patient fills o up with what a slow machine does not spoil.
func patient(o lock.Options) lock.Options {
	if o.TTL == 0 {
		o.TTL = long
	}
	if o.Wait == 0 {
		o.Wait = soon
	}
	if o.Timeout == 0 {
		o.Timeout = soon
	}
	return o
}

func closeLocker(t *testing.T, l *lock.Locker) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	if t.Failed() {
		cancel() // it may have left a lease behind
	}
	if err := l.Close(ctx); err != nil && !t.Failed() {
		t.Errorf("Close: %v: a lease or a request is left", err)
	}
}

// face is one of the ways to use a go-redis client.
type face struct {
	name string
	of   func(*testing.T, *redis.Client) redislock.Client
}

func faces() []face {
	return []face{
		{"plain", func(_ *testing.T, rdb *redis.Client) redislock.Client { return rdb }},
		{"AutoPipeline", func(t *testing.T, rdb *redis.Client) redislock.Client {
			f, err := rdb.AutoPipeline()
			require.NoError(t, err)
			return f
		}},
		{"AsyncAutoPipeline", func(t *testing.T, rdb *redis.Client) redislock.Client {
			f, err := rdb.AsyncAutoPipeline()
			require.NoError(t, err)
			return f
		}},
	}
}

// warm makes connections and lets the server know the scripts.
func warm(t *testing.T, l *lock.Locker) {
	t.Helper()
	lease := acquire(t, l, "warm")
	require.NoError(t, lease.Extend(t.Context(), lock.MaxTTL))
	require.NoError(t, lease.Release(t.Context()))
}

// acquire takes a key, however long the store is away.
func acquire(t *testing.T, l *lock.Locker, key string) *lock.Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	for {
		lease, err := l.Acquire(ctx, key)
		if err == nil {
			return lease
		}
		require.ErrorIs(t, err, lock.ErrUnavailable)
		require.NoError(t, ctx.Err())
	}
}

// release gives a lease back that is still owned, however long the store is
// away.
func release(t *testing.T, lease *lock.Lease) {
	t.Helper()
	begun := time.Now()
	err := lease.Release(t.Context())
	for errors.Is(err, lock.ErrUnavailable) && time.Since(begun) < soon {
		err = lease.Release(t.Context())
	}
	require.NoError(t, err)
}

// eventually waits until something is true.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	require.Eventually(t, done, soon, 5*time.Millisecond, what)
}

// held are the lock keys that are held.
func (s *site) held(t *testing.T) (keys []string) {
	t.Helper()
	for info, err := range s.view.List(context.WithoutCancel(t.Context())) {
		require.NoError(t, err)
		if info.State == lock.StateHeld {
			keys = append(keys, info.Key)
		}
	}
	return keys
}

// noneHeld waits until no key is held.
func (s *site) noneHeld(t *testing.T) {
	t.Helper()
	var keys []string
	for begun := time.Now(); time.Since(begun) < soon; time.Sleep(5 * time.Millisecond) {
		if keys = s.held(t); len(keys) == 0 {
			return
		}
	}
	t.Fatalf("keys are still held after %v: %q", soon, keys)
}

// look returns the state of a lock.
func (s *site) look(t *testing.T, key string) lock.Info {
	t.Helper()
	info, err := s.view.Look(t.Context(), key)
	require.NoError(t, err)
	return info
}

// forever returns a Redis key that has no TTL, "" if there is none.
func (s *site) forever(ctx context.Context) (name string, err error) {
	names := s.rdb.Scan(ctx, 0, "*", 500).Iterator()
	for names.Next(ctx) {
		left, err := s.rdb.PTTL(ctx, names.Val()).Result()
		if err != nil {
			return "", err
		}
		if left == -1 { // without go-redis's unit: no TTL
			return names.Val(), nil
		}
	}
	return "", names.Err()
}

// errorsOf returns how often the server has answered with an error, by its
// first word.
func errorsOf(t *testing.T, s *redistest.Server) map[string]string {
	t.Helper()
	info, err := s.Info("errorstats")
	require.NoError(t, err)
	counts := map[string]string{}
	for name, count := range info {
		counts[strings.TrimPrefix(name, "errorstat_")] = strings.TrimPrefix(count, "count=")
	}
	return counts
}

// calls returns whether a request calls the script of that name.
func calls(t *testing.T, name string) func(args []string) bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "lock", "redislock", name+".lua"))
	require.NoError(t, err)
	sum := sha1.Sum(text)
	sha := hex.EncodeToString(sum[:])
	return func(args []string) bool {
		return len(args) > 3 && (strings.EqualFold(args[0], "evalsha") && args[1] == sha ||
			strings.EqualFold(args[0], "eval") && args[1] == string(text))
	}
}

// diary is an observer that remembers.
type diary struct {
	mu     sync.Mutex
	events []observe.Event
}

// Observe implements observe.Observer.
func (d *diary) Observe(_ context.Context, e observe.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = append(d.events, e)
}

// of returns the events of one kind.
func (d *diary) of(kind observe.Kind) []observe.Event {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(d.events), func(e observe.Event) bool { return e.Kind != kind })
}

// has waits for an event of one kind.
func (d *diary) has(t *testing.T, kind observe.Kind) {
	t.Helper()
	eventually(t, "event "+string(kind), func() bool { return len(d.of(kind)) > 0 })
}

// acquired is what became of an Acquire on another goroutine.
type acquired struct {
	lease *lock.Lease
	err   error
}

// acquireLater calls Acquire on another goroutine.
func acquireLater(ctx context.Context, l *lock.Locker, key string) <-chan acquired {
	done := make(chan acquired, 1)
	go func() {
		lease, err := l.Acquire(ctx, key)
		done <- acquired{lease, err}
	}()
	return done
}

// await returns what comes, and insists that it comes.
func await[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(soon):
		t.Fatalf("%s: nothing came in %v", what, soon)
		panic("unreachable")
	}
}

// unlessStalled makes an attempt, and another if it failed while this machine
// stood still for longer than limit, which is no fault of what is tested.
func unlessStalled(t *testing.T, limit time.Duration, attempt func() error) {
	t.Helper()
	for range 5 {
		stop, worst := make(chan struct{}), make(chan time.Duration)
		go func() {
			longest, last := time.Duration(0), time.Now()
			tick := time.NewTicker(limit / 10)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					longest, last = max(longest, time.Since(last)), time.Now()
				case <-stop:
					worst <- max(longest, time.Since(last))
					return
				}
			}
		}()
		err := attempt()
		close(stop)
		stall := <-worst
		if err == nil {
			return
		}
		require.Greater(t, stall, limit, "failed on a machine that ran well: %v", err)
		t.Logf("this machine stood still for %v: %v", stall, err)
	}
	t.Fatalf("this machine stands still for %v too often", limit)
}
