package sqltest_test

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/sqltest"
)

// echo is a server that answers each line with itself, and remembers them.
type echo struct {
	addr string

	mu    sync.Mutex
	lines []string
}

func newEcho(t *testing.T) *echo {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	e := &echo{addr: listener.Addr().String()}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			work.Go(func() { e.serve(conn) })
		}
	})
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		work.Wait()
	})
	return e
}

func (e *echo) serve(conn net.Conn) {
	defer conn.Close()
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		e.mu.Lock()
		e.lines = append(e.lines, lines.Text())
		e.mu.Unlock()
		if _, err := conn.Write(append(lines.Bytes(), '\n')); err != nil {
			return
		}
	}
}

func (e *echo) heard(line string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, l := range e.lines {
		if l == line {
			return true
		}
	}
	return false
}

func say(t *testing.T, c net.Conn, line string) {
	t.Helper()
	_, err := io.WriteString(c, line+"\n")
	require.NoError(t, err)
}

func requireHears(t *testing.T, c net.Conn, line string) {
	t.Helper()
	got := make([]byte, len(line)+1)
	_, err := io.ReadFull(c, got)
	require.NoError(t, err)
	require.Equal(t, line+"\n", string(got))
}

func requireCut(t *testing.T, c net.Conn) {
	t.Helper()
	_, err := c.Read(make([]byte, 1))
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
}

func TestProxyPassesAndCuts(t *testing.T) {
	t.Parallel()
	e := newEcho(t)
	p := sqltest.NewProxy(t, e.addr)
	c := dial(t, p.Addr())
	say(t, c, "one")
	requireHears(t, c, "one")
	require.Equal(t, 1, p.Conns())
	p.Cut()
	requireCut(t, c)

	p.Refuse()
	requireCut(t, dial(t, p.Addr()))
	p.Heal()
	c = dial(t, p.Addr())
	say(t, c, "two")
	requireHears(t, c, "two")
}

func TestProxyFates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fate  sqltest.Fate
		heard bool
	}{{sqltest.CutBefore, false}, {sqltest.DropReply, true}} {
		e := newEcho(t)
		p := sqltest.NewProxy(t, e.addr)
		p.OnRequest(func(piece []byte) sqltest.Fate {
			if bytes.Contains(piece, []byte("commit")) {
				return c.fate
			}
			return sqltest.Pass
		})
		conn := dial(t, p.Addr())
		say(t, conn, "begin")
		requireHears(t, conn, "begin")
		say(t, conn, "commit")
		requireCut(t, conn)
		require.Equal(t, c.heard, e.heard("commit"))
		p.OnRequest(nil)
		conn = dial(t, p.Addr())
		say(t, conn, "commit")
		requireHears(t, conn, "commit")
	}
}

func TestProxyHolds(t *testing.T) {
	t.Parallel()
	for name, hold := range map[string]func(*sqltest.Proxy){
		"Hold":        (*sqltest.Proxy).Hold,
		"HoldReplies": (*sqltest.Proxy).HoldReplies,
		"HoldReply": func(p *sqltest.Proxy) {
			p.OnRequest(func([]byte) sqltest.Fate { return sqltest.HoldReply })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEcho(t)
			p := sqltest.NewProxy(t, e.addr)
			c, other := dial(t, p.Addr()), dial(t, p.Addr())
			say(t, c, "one")
			requireHears(t, c, "one")
			hold(p)
			say(t, c, "two")
			if name != "Hold" {
				require.Eventually(t, func() bool { return e.heard("two") }, 10*time.Second, time.Millisecond)
			}
			require.NoError(t, c.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
			_, err := c.Read(make([]byte, 1))
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			require.Equal(t, name != "Hold", e.heard("two"))

			p.OnRequest(nil)
			p.Heal()
			require.NoError(t, c.SetReadDeadline(time.Now().Add(10*time.Second)))
			requireHears(t, c, "two")
			say(t, other, "three")
			requireHears(t, other, "three")
			hold(p)
			say(t, c, "four") // and let the end of the test deal with it
		})
	}
}

func TestProxyDelays(t *testing.T) {
	t.Parallel()
	p := sqltest.NewProxy(t, newEcho(t).addr)
	p.Delay(20*time.Millisecond, 30*time.Millisecond)
	c := dial(t, p.Addr())
	began := time.Now()
	say(t, c, "one")
	requireHears(t, c, "one")
	require.GreaterOrEqual(t, time.Since(began), 50*time.Millisecond)
}
