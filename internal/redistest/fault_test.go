package redistest_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/redistest"
)

// through starts a server behind a proxy.
func through(t *testing.T) (*redistest.Server, *redistest.Proxy) {
	t.Helper()
	s := redistest.Start(t)
	return s, redistest.NewProxy(t, s.Addr())
}

// requireCut requires that the connection is over, and not only silent.
func requireCut(t *testing.T, c *redistest.Conn) {
	t.Helper()
	_, err := c.Receive()
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
	require.True(t, errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET), "%v", err)
}

// requireSilent requires that nothing comes on the connection, which is open.
func requireSilent(t *testing.T, c *redistest.Conn) {
	t.Helper()
	require.NoError(t, c.SetDeadline(time.Now().Add(50*time.Millisecond)))
	_, err := c.Receive()
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
}

// requireValue requires that the server comes to have a value for a key.
func requireValue(t *testing.T, s *redistest.Server, key, value string) {
	t.Helper()
	require.Eventually(t, func() bool {
		got, err := s.Do("GET", key)
		return err == nil && got == value
	}, 10*time.Second, time.Millisecond)
}

func TestDropReplies(t *testing.T) {
	t.Parallel()
	s, p := through(t)
	p.DropReplies(2)
	for i := 1; i <= 2; i++ {
		c := dial(t, p.Addr())
		_, err := c.Do("HELLO", 3) // Set-up is spared.
		require.NoError(t, err)
		require.NoError(t, c.Send("INCR", "key"))
		requireCut(t, c)
		require.Equal(t, fmt.Sprint(i), s.MustDo("GET", "key"), "the server has acted before the cut")
	}
	reply, err := dial(t, p.Addr()).Do("INCR", "key")
	require.NoError(t, err)
	require.Equal(t, int64(3), reply)
}

func TestDropRepliesOfAPipeline(t *testing.T) {
	t.Parallel()
	s, p := through(t)
	p.OnRequest(func(args []string) redistest.Action {
		if args[0] == "INCR" {
			return redistest.Action{Fate: redistest.DropReply}
		}
		return redistest.Action{}
	})
	c := dialRaw(t, p.Addr())
	_, err := io.WriteString(c, "SET key 5\r\n"+strings.Repeat("*2\r\n$4\r\nINCR\r\n$3\r\nkey\r\n", 100))
	require.NoError(t, err)
	said, err := io.ReadAll(c)
	require.NoError(t, err)
	require.Equal(t, "+OK\r\n", string(said))
	require.Equal(t, "105", s.MustDo("GET", "key"))
}

func TestCutAfterRequest(t *testing.T) {
	t.Parallel()
	s, p := through(t)
	p.CutAfterRequest()
	s.Pause()
	c := dial(t, p.Addr())
	require.NoError(t, c.Send("SET", "key", "value"))
	requireCut(t, c) // The server has not even seen it.
	s.Resume()
	requireValue(t, s, "key", "value")
}

func TestCutBefore(t *testing.T) {
	t.Parallel()
	s, p := through(t)
	p.OnRequest(func(args []string) redistest.Action {
		if args[0] == "SET" && args[1] == "bad" {
			return redistest.Action{Fate: redistest.CutBefore}
		}
		return redistest.Action{}
	})
	c := dial(t, p.Addr())
	_, err := c.Do("SET", "good", "value")
	require.NoError(t, err)
	require.NoError(t, c.Send("SET", "bad", "value"))
	requireCut(t, c)
	require.Equal(t, []any{"value", nil}, s.MustDo("MGET", "good", "bad"))
}

func TestDelay(t *testing.T) {
	t.Parallel()
	_, p := through(t)
	c := dial(t, p.Addr())
	const late = 30 * time.Millisecond
	for _, delay := range []struct{ request, reply time.Duration }{{request: late}, {reply: late}} {
		p.Delay(delay.request, delay.reply)
		start := time.Now()
		const requests = 100
		for range requests {
			require.NoError(t, c.Send("PING"))
		}
		_, err := c.Receive()
		require.NoError(t, err)
		require.GreaterOrEqual(t, time.Since(start), late)
		for range requests - 1 {
			_, err := c.Receive()
			require.NoError(t, err)
		}
		require.Less(t, time.Since(start), requests*late/2, "a delay is not a queue")
	}
	p.Pass()
	_, err := c.Do("PING")
	require.NoError(t, err)
}

func TestDelayedRequestArrivesAfterItsClientHasGone(t *testing.T) {
	t.Parallel()
	s, p := through(t)
	p.OnRequest(func([]string) redistest.Action {
		return redistest.Action{Delay: 50 * time.Millisecond}
	})
	c := dial(t, p.Addr())
	require.NoError(t, c.Send("SET", "key", "value"))
	require.NoError(t, c.Close())
	require.Nil(t, s.MustDo("GET", "key"))
	requireValue(t, s, "key", "value")
}

func TestReplyDelay(t *testing.T) {
	t.Parallel()
	s, p := through(t)
	p.OnRequest(func(args []string) redistest.Action {
		return redistest.Action{ReplyDelay: 100 * time.Millisecond}
	})
	c := dial(t, p.Addr())
	start := time.Now()
	require.NoError(t, c.Send("SET", "key", "value"))
	requireValue(t, s, "key", "value")
	_, err := c.Receive()
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(start), 100*time.Millisecond)
}

func TestBlackHole(t *testing.T) {
	t.Parallel()
	s, p := through(t)
	old, idle := dial(t, p.Addr()), dial(t, p.Addr())
	for _, c := range []*redistest.Conn{old, idle} {
		_, err := c.Do("PING")
		require.NoError(t, err)
	}
	p.BlackHole()
	fresh := dial(t, p.Addr())
	for _, c := range []*redistest.Conn{old, fresh} {
		require.NoError(t, c.Send("SET", "key", "value"))
		requireSilent(t, c)
	}
	s.RestartEmpty()
	requireSilent(t, old) // Not even the server's end is heard of.
	p.Pass()
	require.Nil(t, s.MustDo("GET", "key"))
	_, err := dial(t, p.Addr()).Do("PING")
	require.NoError(t, err)
	requireCut(t, idle)
}

func TestHalfOpen(t *testing.T) {
	t.Parallel()
	s, p := through(t)
	c := dial(t, p.Addr())
	p.HalfOpen()
	require.NoError(t, c.Send("INCR", "key"))
	requireSilent(t, c)
	require.Equal(t, "1", s.MustDo("GET", "key"))
	p.Pass()
	require.NoError(t, c.SetDeadline(time.Now().Add(10*time.Second)))
	require.NoError(t, c.Send("INCR", "key"))
	requireValue(t, s, "key", "2")
	requireSilent(t, c) // A stream does not lose its middle.
	reply, err := dial(t, p.Addr()).Do("INCR", "key")
	require.NoError(t, err)
	require.Equal(t, int64(3), reply)
}

func TestLoseReplyLeavesTheClientWaiting(t *testing.T) {
	t.Parallel()
	s, p := through(t)
	p.OnRequest(func(args []string) redistest.Action {
		if args[0] == "INCR" {
			return redistest.Action{Fate: redistest.LoseReply}
		}
		return redistest.Action{}
	})
	c := dial(t, p.Addr())
	_, err := c.Do("PING")
	require.NoError(t, err)
	require.NoError(t, c.Send("INCR", "key"))
	requireSilent(t, c)
	require.Equal(t, "1", s.MustDo("GET", "key"))
}

func TestLoseOneRequest(t *testing.T) {
	t.Parallel()
	s, p := through(t)
	p.OnRequest(func(args []string) redistest.Action {
		if args[0] == "INCR" {
			return redistest.Action{Fate: redistest.Lose}
		}
		return redistest.Action{}
	})
	c := dial(t, p.Addr())
	require.NoError(t, c.Send("INCR", "key"))
	require.NoError(t, c.Send("SET", "key", "value"))
	requireSilent(t, c)
	require.Nil(t, s.MustDo("GET", "key"))
}

func TestStallDeliversLate(t *testing.T) {
	t.Parallel()
	s, p := through(t)
	stays, goes := dial(t, p.Addr()), dial(t, p.Addr())
	p.Stall()
	require.NoError(t, goes.Send("SET", "goes", "value"))
	require.NoError(t, goes.Close())
	require.NoError(t, stays.Send("SET", "stays", "value"))
	requireSilent(t, stays)
	require.Equal(t, []any{nil, nil}, s.MustDo("MGET", "goes", "stays"))

	p.Pass()
	require.NoError(t, stays.SetDeadline(time.Now().Add(10*time.Second)))
	reply, err := stays.Receive()
	require.NoError(t, err)
	require.Equal(t, "OK", reply)
	requireValue(t, s, "goes", "value")
}

func TestRefuse(t *testing.T) {
	t.Parallel()
	_, p := through(t)
	old := dial(t, p.Addr())
	_, err := old.Do("PING")
	require.NoError(t, err)
	p.Refuse()
	requireCut(t, old)
	requireCut(t, dial(t, p.Addr()))
	p.Pass()
	_, err = dial(t, p.Addr()).Do("PING")
	require.NoError(t, err)
}

func TestCutAll(t *testing.T) {
	t.Parallel()
	_, p := through(t)
	a, b := dial(t, p.Addr()), dial(t, p.Addr())
	for _, c := range []*redistest.Conn{a, b} {
		_, err := c.Do("PING")
		require.NoError(t, err)
	}
	p.CutAll()
	requireCut(t, a)
	requireCut(t, b)
	require.Eventually(t, func() bool { return p.Conns() == 0 }, 10*time.Second, time.Millisecond)
}

func TestDuplicate(t *testing.T) {
	t.Parallel()
	s, p := through(t)
	p.Duplicate(func(args []string) bool { return args[0] == "INCR" })
	c := dial(t, p.Addr())
	for _, key := range []string{"a", "b"} {
		_, err := c.Do("INCR", key)
		require.NoError(t, err)
	}
	_, err := c.Do("SET", "b", "text")
	require.NoError(t, err)
	require.NoError(t, c.Close())
	require.Equal(t, "1", s.MustDo("GET", "a"))

	replies, err := p.SendCopies()
	require.NoError(t, err)
	require.Equal(t, []any{int64(2), redistest.ReplyError("ERR value is not an integer or out of range")}, replies)
	replies, err = p.SendCopies()
	require.NoError(t, err)
	require.Empty(t, replies)
}

func TestHookMayBlockAndSwitchFaults(t *testing.T) {
	t.Parallel()
	s, p := through(t)
	came, proceed := make(chan struct{}), make(chan struct{})
	var once atomic.Bool
	p.OnRequest(func(args []string) redistest.Action {
		if args[0] == "INCR" && once.CompareAndSwap(false, true) {
			close(came)
			<-proceed
			p.CutAll()
		}
		return redistest.Action{}
	})
	c := dial(t, p.Addr())
	require.NoError(t, c.Send("INCR", "key"))
	<-came
	require.Nil(t, s.MustDo("GET", "key"))
	_, err := dial(t, p.Addr()).Do("PING") // Others pass.
	require.NoError(t, err)
	close(proceed)
	requireCut(t, c)
}
