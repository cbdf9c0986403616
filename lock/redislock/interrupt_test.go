package redislock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/redistest"
	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/lock/redislock"
)

func asyncStore(t *testing.T, addr string) store {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = rdb.Close() })
	async, err := rdb.AsyncAutoPipeline()
	require.NoError(t, err)
	return store{Backend: backend(t, async, redislock.Options{}), rdb: rdb}
}

// settle waits until the request behind err is over.
func settle(t *testing.T, err error) {
	t.Helper()
	var doubt *lock.InDoubtError
	require.ErrorAs(t, err, &doubt)
	select {
	case <-doubt.Settled:
	case <-time.After(soon):
		t.Fatal("the request never settled")
	}
}

func TestInterruptible(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := asyncStore(t, server.Addr())
	require.True(t, s.Interruptible())
	s.acquire(t, "held", "me")
	_, err := s.Extend(t.Context(), request("held", "me")) // so that the server knows the script
	require.NoError(t, err)

	server.Pause()
	interrupted := func(do func(context.Context) error) error {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		start := time.Now()
		err := do(ctx)
		require.Less(t, time.Since(start), 2*time.Second)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		var doubt *lock.InDoubtError
		require.ErrorAs(t, err, &doubt)
		select {
		case <-doubt.Settled:
			t.Fatal("settled while the server is paused")
		default:
		}
		return err
	}
	acquired := interrupted(func(ctx context.Context) error {
		_, err := s.Acquire(ctx, request("k", "me"))
		return err
	})
	extended := interrupted(func(ctx context.Context) error {
		_, err := s.Extend(ctx, lock.Request{Key: "held", Nonce: "me", TTL: time.Hour})
		return err
	})
	batch := interrupted(func(ctx context.Context) error {
		_, errs := s.ExtendBatch(ctx, []lock.Request{request("held", "me"), request("held", "another")})
		return errors.Join(errs...)
	})
	server.Resume()

	settle(t, acquired)
	settle(t, extended)
	settle(t, batch)
	require.Equal(t, lock.StateHeld, s.look(t, "k").State, "it had been sent")
	require.Greater(t, s.look(t, "held").Remaining, 50*time.Minute)
	require.NoError(t, s.Release(t.Context(), lock.ReleaseRequest{Key: "k", Nonce: "me", TTL: ttl, Compensate: true}))

	released := func() error {
		server.Pause()
		defer server.Resume()
		return interrupted(func(ctx context.Context) error {
			return s.Release(ctx, lock.ReleaseRequest{Key: "held", Nonce: "me", TTL: ttl})
		})
	}()
	settle(t, released)
	require.Equal(t, lock.StateFree, s.look(t, "held").State)
	s.noneForever(t)
}

// A request of an ended context is not sent, on any client.
func TestEndedContextSendsNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for _, s := range []store{connect(t, server.Addr()), asyncStore(t, server.Addr())} {
		server.MustDo("FLUSHALL")
		s.acquire(t, "held", "me")
		sent := &recorder{}
		s.rdb.AddHook(sent)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := s.Acquire(ctx, request("k", "me"))
		require.ErrorIs(t, err, context.Canceled)
		_, err = s.Extend(ctx, request("held", "me"))
		require.ErrorIs(t, err, context.Canceled)
		err = s.Release(ctx, lock.ReleaseRequest{Key: "held", Nonce: "me", TTL: ttl})
		require.ErrorIs(t, err, context.Canceled)
		require.Empty(t, sent.commands())
		s.release(t, "held", "me")
	}
}

// The client resends what it had no reply to. Each script knows its own nonce.
func TestLostReplies(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for name, open := range map[string]func(*testing.T, string) store{"plain": connect, "async": asyncStore} {
		t.Run(name, func(t *testing.T) {
			proxy := redistest.NewProxy(t, server.Addr())
			s := open(t, proxy.Addr())
			key := "lost " + name
			s.acquire(t, "warm "+name, "up")
			proxy.DropReplies(1)
			g := s.acquire(t, key, "me")
			require.Equal(t, g.Fence, s.look(t, key).Fence, "one grant, not two")
			proxy.DropReplies(1)
			more, err := s.Extend(t.Context(), lock.Request{Key: key, Nonce: "me", TTL: ttl, Block: 4})
			require.NoError(t, err)
			require.Equal(t, more.Fence+3, s.look(t, key).Fence)
			proxy.DropReplies(1)
			s.release(t, key, "me")
			require.Equal(t, lock.StateFree, s.look(t, key).State)
			_, err = s.Acquire(t.Context(), request(key, "me"))
			require.ErrorIs(t, err, lock.ErrSpent)
		})
	}
}

// A copy of an acquire that the network kept back is refused after the release
// and after the compensation, and when another holds the key.
func TestLateCopies(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	s := connect(t, proxy.Addr())
	s.acquire(t, "warm", "up")
	proxy.Duplicate(func(args []string) bool {
		return len(args) > 4 && args[0] == "evalsha" && args[4] == "me" && len(args) == 7
	})
	for _, key := range []string{"released", "compensated", "taken"} {
		s.acquire(t, key, "me")
	}
	s.release(t, "released", "me")
	require.NoError(t, s.rdb.Del(t.Context(), prefix+"compensated").Err())
	require.NoError(t, s.Release(t.Context(), lock.ReleaseRequest{Key: "compensated", Nonce: "me", TTL: ttl, Compensate: true}))
	s.release(t, "taken", "me")
	s.acquire(t, "taken", "another")
	replies, err := proxy.SendCopies()
	require.NoError(t, err)
	require.NotEmpty(t, replies)
	require.Equal(t, lock.StateFree, s.look(t, "released").State)
	require.Equal(t, lock.StateFree, s.look(t, "compensated").State)
	require.Equal(t, "another", s.look(t, "taken").Nonce)
	s.noneForever(t)
}
