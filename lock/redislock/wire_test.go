package redislock_test

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/redistest"
	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/lock/redislock"
)

func TestInvalidRequestsAreNotSent(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s store) {
		sent := &recorder{}
		s.rdb.AddHook(sent)
		type change func(*lock.Request)
		for what, change := range map[string]change{
			"Key":         func(r *lock.Request) { r.Key = "" },
			"Nonce":       func(r *lock.Request) { r.Nonce = "" },
			"TTL: 0s":     func(r *lock.Request) { r.TTL = 0 },
			"TTL: -1s":    func(r *lock.Request) { r.TTL = -time.Second },
			"TTL: 9.9":    func(r *lock.Request) { r.TTL = lock.MinTTL - time.Nanosecond },
			"TTL: 24h0m0": func(r *lock.Request) { r.TTL = lock.MaxTTL + time.Nanosecond },
			"Block":       func(r *lock.Request) { r.Block = math.MaxUint64 },
		} {
			req := request("k", "me")
			change(&req)
			_, err := s.Acquire(t.Context(), req)
			require.ErrorIs(t, err, lock.ErrInvalid, what)
			require.ErrorContains(t, err, what)
			_, err = s.Extend(t.Context(), req)
			require.ErrorIs(t, err, lock.ErrInvalid, what)
			_, errs := s.ExtendBatch(t.Context(), []lock.Request{req})
			require.ErrorIs(t, errs[0], lock.ErrInvalid, what)
			if what != "Block" {
				err = s.Release(t.Context(), lock.ReleaseRequest{Key: req.Key, Nonce: req.Nonce, TTL: req.TTL})
				require.ErrorIs(t, err, lock.ErrInvalid, what)
			}
		}
		req := request("k", "me")
		req.Block = 0
		_, err := s.Acquire(t.Context(), req)
		require.ErrorIs(t, err, lock.ErrInvalid)
		_, err = s.Look(t.Context(), "")
		require.ErrorIs(t, err, lock.ErrInvalid)
		require.ErrorIs(t, s.Break(t.Context(), ""), lock.ErrInvalid)
		require.ErrorIs(t, s.Raise(t.Context(), "", "me", 1), lock.ErrInvalid)
		require.ErrorIs(t, s.Raise(t.Context(), "k", "", 1), lock.ErrInvalid)
		require.Empty(t, sent.commands())
	})
}

// Each operation is one command, with remaining times in whole milliseconds,
// never less than asked for.
func TestWhatIsSent(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s store) {
		// So that the server knows the scripts.
		s.acquire(t, "k", "before")
		_, err := s.Extend(t.Context(), request("k", "before"))
		require.NoError(t, err)
		s.release(t, "k", "before")

		sent := &recorder{}
		s.rdb.AddHook(sent)
		odd := 10*time.Second + time.Nanosecond
		g, err := s.Acquire(t.Context(), lock.Request{Key: "k", Nonce: "me", TTL: odd, Block: 1})
		require.NoError(t, err)
		_, err = s.Extend(t.Context(), lock.Request{Key: "k", Nonce: "me", TTL: odd, Block: 5})
		require.NoError(t, err)
		_, err = s.Acquire(t.Context(), lock.Request{Key: "k", Nonce: "two", TTL: lock.MinTTL, Block: 70, Waiting: true})
		require.ErrorIs(t, err, lock.ErrNotAcquired)
		require.NoError(t, s.Release(t.Context(), lock.ReleaseRequest{Key: "k", Nonce: "me", TTL: odd, Fence: g.Fence, Keep: odd}))
		require.NoError(t, s.Release(t.Context(), lock.ReleaseRequest{Key: "x", Nonce: "me", TTL: odd, Compensate: true}))

		commands := sent.commands()
		require.Len(t, commands, 5)
		for i, want := range []string{
			" 1 semel:lock:k me 10001 0000000001",
			" 1 semel:lock:k me 10001 5",
			" 1 semel:lock:k two 10 0000000070 w",
			" 1 semel:lock:k me 10001 " + digits(g.Fence) + " 10001",
			" 1 semel:lock:x me 10001 0 0 c",
		} {
			name, rest, _ := strings.Cut(commands[i], " ")
			require.Equal(t, "evalsha", name)
			require.Equal(t, want, rest[40:])
		}
	})
}

func digits(fence uint64) string { return strconv.FormatUint(fence, 10) }

func TestScriptsAreSentAgainWhenTheServerForgotThem(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s store) {
		forget := func() { require.NoError(t, s.rdb.ScriptFlush(t.Context()).Err()) }
		forget()
		s.acquire(t, "k", "me")
		forget()
		_, err := s.Extend(t.Context(), request("k", "me"))
		require.NoError(t, err)
		forget()
		require.NoError(t, s.Raise(t.Context(), "k", "me", 7))
		forget()
		require.Equal(t, lock.StateHeld, s.look(t, "k").State)
		forget()
		grants, errs := s.ExtendBatch(t.Context(), []lock.Request{request("k", "me"), request("k", "another"), request("x", "me")})
		require.NoError(t, errs[0])
		require.NotZero(t, grants[0].Fence)
		require.ErrorIs(t, errs[1], lock.ErrTaken)
		require.ErrorIs(t, errs[2], lock.ErrExpired)
		forget()
		n := 0
		for info, err := range s.List(t.Context()) {
			require.NoError(t, err)
			require.Equal(t, "k", info.Key)
			n++
		}
		require.Equal(t, 1, n)
		forget()
		s.release(t, "k", "me")
		s.acquire(t, "k", "next")
		forget()
		require.NoError(t, s.Break(t.Context(), "k"))
		require.Equal(t, lock.StateFree, s.look(t, "k").State)
	})
}

func TestPublishesOnlyIfSomebodyWaits(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := connect(t, server.Addr())
	published := func() string { return calls(t, server, "publish") }

	s.acquire(t, "k", "me")
	_, err := s.Acquire(t.Context(), request("k", "two"))
	require.ErrorIs(t, err, lock.ErrNotAcquired)
	g, err := s.Extend(t.Context(), request("k", "me"))
	require.NoError(t, err)
	require.False(t, g.Waiters)
	s.release(t, "k", "me")
	require.Equal(t, "0", published(), "nobody waits")

	wait := func(nonce string) {
		req := request("k", nonce)
		req.Waiting = true
		_, err := s.Acquire(t.Context(), req)
		require.ErrorIs(t, err, lock.ErrNotAcquired)
	}
	s.acquire(t, "k", "me2")
	_, left := s.raw(t, "k")
	wait("two2")
	wait("two3")
	_, leftAfter := s.raw(t, "k")
	require.LessOrEqual(t, leftAfter, left, "the mark keeps the TTL")
	g, err = s.Extend(t.Context(), request("k", "me2"))
	require.NoError(t, err)
	require.True(t, g.Waiters)
	require.NotZero(t, g.Fence)
	g, err = s.Extend(t.Context(), lock.Request{Key: "k", Nonce: "me2", TTL: ttl})
	require.NoError(t, err)
	require.True(t, g.Waiters)
	require.Zero(t, g.Fence)
	require.True(t, s.look(t, "k").Waiters)
	s.release(t, "k", "me2")
	require.Equal(t, "1", published())
	require.False(t, s.look(t, "k").Waiters)
	s.release(t, "k", "me2")
	require.Equal(t, "1", published(), "released again")

	// Those who wait for a key that is kept have to learn its remaining time.
	s.acquire(t, "k", "me3")
	wait("two4")
	s.keep(t, "k", "me3", ttl)
	require.Equal(t, "2", published())
	wait("two5")
	require.NoError(t, s.Break(t.Context(), "k"))
	require.Equal(t, "3", published())

	s.acquire(t, "k", "me4")
	wait("two6")
	require.NoError(t, s.Break(t.Context(), "k"))
	require.Equal(t, "4", published())
	s.noneForever(t)
}

// calls is how often a server ran a command.
func calls(t *testing.T, server *redistest.Server, command string) string {
	t.Helper()
	stats, err := server.Info("commandstats")
	require.NoError(t, err)
	for field := range strings.SplitSeq(stats["cmdstat_"+command], ",") {
		if n, ok := strings.CutPrefix(field, "calls="); ok {
			return n
		}
	}
	return "0"
}

// A release that has happened is not failed by a channel that is forbidden.
func TestDeniedCommands(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	as := func(t *testing.T, name string, rules ...any) store {
		server.MustDo(append([]any{"ACL", "SETUSER", name, "reset", "on", ">secret"}, rules...)...)
		rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), Username: name, Password: "secret"})
		t.Cleanup(func() { _ = rdb.Close() })
		return store{Backend: backend(t, rdb, redislock.Options{}), rdb: rdb}
	}
	pair := func(t *testing.T, s store) {
		s.acquire(t, "k", t.Name())
		req := request("k", "another")
		req.Waiting = true
		_, err := s.Acquire(t.Context(), req)
		require.ErrorIs(t, err, lock.ErrNotAcquired)
		s.release(t, "k", t.Name())
	}
	scripts := []any{"~semel:lock:*", "+evalsha", "+eval", "+get", "+set", "+setrange", "+pttl", "+pexpire", "+time"}

	t.Run("all that is needed", func(t *testing.T) {
		s := as(t, "enough", append(scripts, "&semel:lock:*", "+publish", "+subscribe", "+unsubscribe", "+ping")...)
		heard := newEars()
		l := s.Listen(heard.notify)
		l.Watch("k")
		heard.await(t, "k")
		pair(t, s)
		heard.await(t, "k")
		require.NoError(t, l.Close())
	})
	t.Run("no channel", func(t *testing.T) {
		s := as(t, "silent", append(scripts, "resetchannels", "+publish")...)
		pair(t, s)
	})
	for name, rules := range map[string][]any{
		"no scripts":           {"~semel:lock:*", "+get", "+set"},
		"no eval":              {"~semel:lock:*", "+evalsha", "+get", "+set"},
		"no command in script": {"~semel:lock:*", "+evalsha", "+eval", "+get", "+set"},
		"no keys":              {"~other:*", "+@all"},
	} {
		t.Run(name, func(t *testing.T) {
			server.MustDo("SCRIPT", "FLUSH")
			s := as(t, "few", rules...)
			_, err := s.Acquire(t.Context(), request("k2", "me"))
			require.ErrorContains(t, err, "grant evalsha")
			require.NotErrorIs(t, err, lock.ErrNotAcquired)
		})
	}
	t.Run("renamed", func(t *testing.T) {
		bare := redistest.Start(t, redistest.Options{Config: []string{`rename-command EVALSHA ""`}})
		s := connect(t, bare.Addr())
		_, err := s.Acquire(t.Context(), request("k", "me"))
		require.ErrorContains(t, err, "grant evalsha")
		report, err := s.Doctor(t.Context())
		require.NoError(t, err)
		require.Equal(t, redislock.No, report.Servers[0].Scripts)
		require.Contains(t, report.Problems()[0], "scripts are denied")
	})
}
