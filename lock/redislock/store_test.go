package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
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

const (
	prefix = "semel:lock:" // the default
	ttl    = 30 * time.Second
	short  = 15 * time.Second
)

// store is a Backend and the server behind it.
type store struct {
	*redislock.Backend
	rdb *redis.Client
	// expire lets the TTL of a Redis key pass.
	expire func(t *testing.T, name string)
}

// onStores runs a test on miniredis and on a real server. Both are empty.
func onStores(t *testing.T, test func(t *testing.T, s store)) {
	t.Helper()
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		mini := miniredis.RunT(t)
		s := connect(t, mini.Addr())
		s.expire = func(t *testing.T, name string) { mini.FastForward(mini.TTL(name)) }
		test(t, s)
		s.noneForever(t)
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		s := connect(t, redistest.Start(t).Addr())
		s.expire = func(t *testing.T, name string) {
			require.NoError(t, s.rdb.PExpire(t.Context(), name, time.Millisecond).Err())
			require.Eventually(t, func() bool {
				return s.rdb.Exists(t.Context(), name).Val() == 0
			}, 10*time.Second, time.Millisecond)
		}
		test(t, s)
		s.noneForever(t)
	})
}

// connect returns a store on a plain client.
func connect(t *testing.T, addr string) store {
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = rdb.Close() })
	return store{Backend: backend(t, rdb, redislock.Options{}), rdb: rdb}
}

func backend(t *testing.T, client redislock.Client, o redislock.Options) *redislock.Backend {
	t.Helper()
	b, err := redislock.New(client, o)
	require.NoError(t, err)
	return b
}

// noneForever requires that every Redis key has an expiry.
func (s store) noneForever(t *testing.T) {
	t.Helper()
	names, err := s.rdb.Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	for _, name := range names {
		left, err := s.rdb.PTTL(t.Context(), name).Result()
		require.NoError(t, err)
		require.NotEqual(t, time.Duration(-1), left, "%.60q has no expiry", name)
	}
}

func request(key, nonce string) lock.Request {
	return lock.Request{Key: key, Nonce: nonce, TTL: ttl, Block: 1}
}

// acquire takes a key that must be free.
func (s store) acquire(t *testing.T, key, nonce string) lock.Grant {
	t.Helper()
	g, err := s.Acquire(t.Context(), request(key, nonce))
	require.NoError(t, err)
	return g
}

// release gives back a key that must be owned.
func (s store) release(t *testing.T, key, nonce string) {
	t.Helper()
	require.NoError(t, s.Release(t.Context(), lock.ReleaseRequest{Key: key, Nonce: nonce, TTL: ttl}))
}

func (s store) keep(t *testing.T, key, nonce string, d time.Duration) {
	t.Helper()
	require.NoError(t, s.Release(t.Context(), lock.ReleaseRequest{Key: key, Nonce: nonce, TTL: ttl, Keep: d}))
}

func (s store) look(t *testing.T, key string) lock.Info {
	t.Helper()
	info, err := s.Look(t.Context(), key)
	require.NoError(t, err)
	return info
}

// raw returns what Redis has for a lock.
func (s store) raw(t *testing.T, key string) (value string, left time.Duration) {
	t.Helper()
	value, err := s.rdb.Get(t.Context(), prefix+key).Result()
	if !errors.Is(err, redis.Nil) {
		require.NoError(t, err)
	}
	left, err = s.rdb.PTTL(t.Context(), prefix+key).Result()
	require.NoError(t, err)
	return value, left
}

// unchanged requires that do changes neither the value nor prolongs its life.
func (s store) unchanged(t *testing.T, key string, do func()) {
	t.Helper()
	value, left := s.raw(t, key)
	do()
	after, leftAfter := s.raw(t, key)
	require.Equal(t, value, after)
	require.LessOrEqual(t, leftAfter, left)
}

// recorder is a hook that notes the commands a client sends.
type recorder struct {
	mu   sync.Mutex
	sent []string
}

func (r *recorder) note(cmds ...redis.Cmder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, cmd := range cmds {
		words := make([]string, len(cmd.Args()))
		for i, arg := range cmd.Args() {
			words[i] = deref(arg)
		}
		r.sent = append(r.sent, strings.Join(words, " "))
	}
}

// deref prints an argument as it is sent.
func deref(arg any) string {
	switch a := arg.(type) {
	case *string:
		return *a
	case *int64:
		return fmt.Sprint(*a)
	case *uint64:
		return fmt.Sprint(*a)
	}
	return fmt.Sprint(arg)
}

func (r *recorder) commands() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.sent...)
}

func (r *recorder) DialHook(next redis.DialHook) redis.DialHook { return next }

func (r *recorder) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		r.note(cmd)
		return next(ctx, cmd)
	}
}

func (r *recorder) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		r.note(cmds...)
		return next(ctx, cmds)
	}
}
