package redisstore_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/redisstore"
	"github.com/semel-go/semel/internal/redistest"
)

const (
	prefix = "semel:run:" // the default
	lease  = 30 * time.Second
	short  = 15 * time.Second
	keep   = time.Hour
	stub   = 2 * time.Minute
)

// env is a Store and the server behind it.
type env struct {
	*redisstore.Store
	rdb *redis.Client
	// expire lets the TTL of a record pass.
	expire func(t *testing.T, key idempotency.Digest)
	// pass lets time pass by the server's clock.
	pass func(d time.Duration)
}

// onServers runs a test on miniredis and on a real server. Both are empty.
func onServers(t *testing.T, test func(t *testing.T, e env)) {
	t.Helper()
	t.Parallel()
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		mini := miniredis.RunT(t)
		now := time.Now()
		mini.SetTime(now)
		e := connect(t, mini.Addr())
		e.pass = func(d time.Duration) {
			now = now.Add(d)
			mini.SetTime(now)
			mini.FastForward(d)
		}
		e.expire = func(_ *testing.T, key idempotency.Digest) { e.pass(mini.TTL(nameOf(key))) }
		test(t, e)
		e.noneForever(t)
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		e := connect(t, redistest.Start(t).Addr())
		test(t, e)
		e.noneForever(t)
	})
}

// connect returns an env on a plain client.
func connect(t *testing.T, addr string) env {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = rdb.Close() })
	e := env{Store: newStore(t, rdb, redisstore.Options{}), rdb: rdb, pass: time.Sleep}
	e.expire = func(t *testing.T, key idempotency.Digest) {
		require.NoError(t, rdb.PExpire(t.Context(), nameOf(key), time.Millisecond).Err())
		require.Eventually(t, func() bool {
			return rdb.Exists(t.Context(), nameOf(key)).Val() == 0
		}, 10*time.Second, time.Millisecond)
	}
	return e
}

func newStore(t *testing.T, client redisstore.Client, o redisstore.Options) *redisstore.Store {
	t.Helper()
	s, err := redisstore.New(client, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// noneForever requires that every Redis key has an expiry.
func (e env) noneForever(t *testing.T) {
	t.Helper()
	names, err := e.rdb.Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	for _, name := range names {
		left, err := e.rdb.PTTL(t.Context(), name).Result()
		require.NoError(t, err)
		require.NotEqual(t, time.Duration(-1), left, "%.60q has no expiry", name)
	}
}

func nameOf(key idempotency.Digest) string { return prefix + key.String() }

func digestOf(t *testing.T, id string) idempotency.Digest {
	t.Helper()
	d, err := idempotency.Key{Scope: t.Name(), ID: id}.Digest()
	require.NoError(t, err)
	return d
}

func newNonce() (n idempotency.Nonce) {
	_, _ = rand.Read(n[:])
	return n
}

func printOf(text string) idempotency.Fingerprint { return idempotency.FingerprintOf([]byte(text)) }

func request(key idempotency.Digest, nonce idempotency.Nonce) idempotency.BeginRequest {
	return idempotency.BeginRequest{Key: key, Nonce: nonce, Lease: lease}
}

// begin claims a key that must be free to claim.
func (e env) begin(t *testing.T, key idempotency.Digest, nonce idempotency.Nonce) idempotency.Begun {
	t.Helper()
	b, err := e.Begin(t.Context(), request(key, nonce))
	require.NoError(t, err)
	require.Equal(t, idempotency.StateClaimed, b.State)
	return b
}

// refused asks for a key that must not be free to claim.
func (e env) refused(t *testing.T, key idempotency.Digest, waiting bool) idempotency.Begun {
	t.Helper()
	r := request(key, newNonce())
	r.Waiting = waiting
	b, err := e.Begin(t.Context(), r)
	require.NoError(t, err)
	require.NotEqual(t, idempotency.StateClaimed, b.State)
	return b
}

func (e env) release(t *testing.T, key idempotency.Digest, nonce idempotency.Nonce) {
	t.Helper()
	require.NoError(t, e.Release(t.Context(), idempotency.ReleaseRequest{Key: key, Nonce: nonce, TTL: stub}))
}

// record is what a run of nonce left behind.
func record(nonce idempotency.Nonce, b idempotency.Begun) idempotency.Record {
	at := time.Now().Truncate(time.Millisecond).UTC()
	return idempotency.Record{
		Nonce: nonce, Fence: b.Fence, Attempt: b.Attempt,
		ClaimedAt: at, CompletedAt: at.Add(1234 * time.Millisecond), Body: []byte("done"),
	}
}

func (e env) complete(t *testing.T, key idempotency.Digest, r idempotency.Record) (late bool) {
	t.Helper()
	late, err := e.Complete(t.Context(), idempotency.CompleteRequest{Key: key, Record: r, Retention: keep})
	require.NoError(t, err)
	return late
}

func (e env) look(t *testing.T, key idempotency.Digest) idempotency.Info {
	t.Helper()
	info, err := e.Look(t.Context(), key)
	require.NoError(t, err)
	return info
}

// raw returns what Redis has for a record.
func (e env) raw(t *testing.T, key idempotency.Digest) (value string, left time.Duration) {
	t.Helper()
	value, err := e.rdb.Get(t.Context(), nameOf(key)).Result()
	if !errors.Is(err, redis.Nil) {
		require.NoError(t, err)
	}
	left, err = e.rdb.PTTL(t.Context(), nameOf(key)).Result()
	require.NoError(t, err)
	return value, left
}

// unchanged requires that do changes neither the value nor prolongs its life.
func (e env) unchanged(t *testing.T, key idempotency.Digest, do func()) {
	t.Helper()
	value, left := e.raw(t, key)
	do()
	after, leftAfter := e.raw(t, key)
	require.Equal(t, value, after)
	require.LessOrEqual(t, leftAfter, left)
}

// about requires that d is what remains of want, some slow steps later.
func about(t *testing.T, want, d time.Duration) {
	t.Helper()
	require.LessOrEqual(t, d, want+time.Millisecond)
	require.Greater(t, d, want-10*time.Second)
}

// recorder is a hook that notes the commands that a client sends and counts its
// round trips.
type recorder struct {
	mu    sync.Mutex
	sent  []string
	trips int
}

func (r *recorder) note(cmds ...redis.Cmder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := make([]string, len(cmds))
	for i, cmd := range cmds {
		names[i] = cmd.Name()
	}
	if slices.ContainsFunc(names, func(name string) bool {
		return !slices.Contains([]string{"hello", "client", "ping", "cluster", "command"}, name)
	}) {
		r.sent = append(r.sent, strings.Join(names, "+"))
		r.trips++
	}
}

// take returns what was sent since it was last asked.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	sent := r.sent
	r.sent = nil
	return sent
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

// mustDo sends a command to the server itself.
func (e env) mustDo(t *testing.T, args ...any) any {
	t.Helper()
	reply, err := e.rdb.Do(t.Context(), args...).Result()
	require.NoError(t, err, fmt.Sprint(args...))
	return reply
}
