package redistest_test

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/redistest"
)

func TestProxyPasses(t *testing.T) {
	t.Parallel()
	s, p := through(t)
	for _, version := range []int{2, 3} {
		c := dial(t, p.Addr())
		_, err := c.Do("HELLO", version)
		require.NoError(t, err)
		large := strings.Repeat("x\r\n$", 100_000)
		reply, err := c.Do("SET", "large", large)
		require.NoError(t, err)
		require.Equal(t, "OK", reply)
		reply, err = c.Do("GET", "large")
		require.NoError(t, err)
		require.Equal(t, large, reply)
		_, err = c.Do("GET")
		require.ErrorContains(t, err, "wrong number of arguments")
		reply, err = c.Do("EVAL", "return {1, 'a', {false, {ok='fine'}, redis.error_reply('bad')}}", 0)
		require.NoError(t, err)
		require.Equal(t, []any{int64(1), "a", []any{nil, "fine", redistest.ReplyError("ERR bad")}}, withCode(reply))
	}
	require.Equal(t, 2, p.Conns())
	require.Equal(t, 2, p.Count("SET"))
	require.Equal(t, map[string]int{"HELLO": 2, "SET": 2, "GET": 4, "EVAL": 2}, p.Counts())
	p.ResetCounts()
	require.Empty(t, p.Counts())

	s.Kill()
	require.Eventually(t, func() bool { return p.Conns() == 0 }, 10*time.Second, time.Millisecond)
	requireCut(t, dial(t, p.Addr()))
	other := redistest.Start(t)
	p.SetTarget(other.Addr())
	reply, err := dial(t, p.Addr()).Do("GET", "large")
	require.NoError(t, err)
	require.Nil(t, reply)
}

// withCode hides that servers differ in how they prefix an error of a script.
func withCode(reply any) any {
	if inner, ok := reply.([]any)[2].([]any); ok && inner[2] == redistest.ReplyError("bad") {
		inner[2] = redistest.ReplyError("ERR bad")
	}
	return reply
}

func TestProxyPassesPipelines(t *testing.T) {
	t.Parallel()
	_, p := through(t)
	const clients, requests = 8, 2000
	var work sync.WaitGroup
	for i := range clients {
		c := dial(t, p.Addr())
		work.Go(func() {
			for n := range requests {
				if c.Send("INCRBY", fmt.Sprint("counter", i), n) != nil {
					return
				}
			}
		})
		work.Go(func() {
			sum := int64(0)
			for n := range requests {
				sum += int64(n)
				reply, err := c.Receive()
				if err != nil || reply != sum {
					t.Errorf("client %d, request %d: %v, %v", i, n, reply, err)
					return
				}
			}
		})
	}
	work.Wait()
	require.Equal(t, clients*requests, p.Count("INCRBY"))
}

func TestProxyTakesInlineCommands(t *testing.T) {
	t.Parallel()
	s, p := through(t)
	p.OnRequest(func(args []string) redistest.Action {
		if args[0] == "incr" {
			return redistest.Action{Fate: redistest.DropReply}
		}
		return redistest.Action{}
	})
	c := dialRaw(t, p.Addr())
	_, err := io.WriteString(c, "\r\nping\r\nincr key\r\n")
	require.NoError(t, err)
	said, err := io.ReadAll(c)
	require.NoError(t, err)
	require.Equal(t, "+PONG\r\n", string(said))
	require.Equal(t, "1", s.MustDo("GET", "key"))
}

func TestProxyEndsWhatIsNotRedis(t *testing.T) {
	t.Parallel()
	_, p := through(t)
	c := dialRaw(t, p.Addr())
	_, err := io.WriteString(c, "*1\r\n$x\r\n")
	require.NoError(t, err)
	said, _ := io.ReadAll(c)
	require.Empty(t, said)
}
