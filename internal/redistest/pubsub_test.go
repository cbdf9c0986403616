package redistest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/redistest"
)

// Messages that nobody asked for must not be taken for replies: else the fate
// of a request would befall another's reply.
func TestProxyTellsMessagesFromReplies(t *testing.T) {
	t.Parallel()
	for _, version := range []int{2, 3} {
		s, p := through(t)
		p.OnRequest(func(args []string) redistest.Action {
			if args[0] == "PING" && len(args) == 2 {
				return redistest.Action{Fate: redistest.DropReply}
			}
			return redistest.Action{}
		})
		c := dial(t, p.Addr())
		_, err := c.Do("HELLO", version)
		require.NoError(t, err)
		require.NoError(t, c.Send("SUBSCRIBE", "a", "b"))
		require.NoError(t, c.Send("PSUBSCRIBE", "a*"))
		require.NoError(t, c.Send("SSUBSCRIBE", "s"))
		require.NoError(t, c.Send("UNSUBSCRIBE"))
		require.NoError(t, c.Send("UNSUBSCRIBE", "never"))
		require.NoError(t, c.Send("PING"))
		want := [][]any{
			{"subscribe", "a", int64(1)}, {"subscribe", "b", int64(2)},
			{"psubscribe", "a*", int64(3)}, {"ssubscribe", "s", int64(1)},
		}
		for _, confirmation := range want {
			require.Equal(t, confirmation, receiveList(t, c))
		}
		for range 2 { // In whatever order.
			require.Equal(t, "unsubscribe", receiveList(t, c)[0])
		}
		require.Equal(t, []any{"unsubscribe", "never", int64(1)}, receiveList(t, c))
		receivePong(t, c)

		for range 3 {
			require.Equal(t, int64(1), s.MustDo("PUBLISH", "abc", "message"))
			require.Equal(t, []any{"pmessage", "a*", "abc", "message"}, receiveList(t, c))
			require.NoError(t, c.Send("PING"))
			receivePong(t, c)
		}
		require.NoError(t, c.Send("PING", "last"))
		requireCut(t, c)
	}
}

// The answer to a refused subscription is an ordinary error.
func TestProxyTakesARefusedSubscription(t *testing.T) {
	t.Parallel()
	s, p := through(t)
	s.MustDo("ACL", "SETUSER", "default", "resetchannels", "&allowed")
	for _, version := range []int{2, 3} {
		c := dial(t, p.Addr())
		_, err := c.Do("HELLO", version)
		require.NoError(t, err)
		_, err = c.Do("SUBSCRIBE", "a", "b")
		require.ErrorContains(t, err, "NOPERM")
		p.DropReplies(1)
		require.NoError(t, c.Send("SUBSCRIBE", "allowed"))
		requireCut(t, c)
		require.Eventually(t, func() bool {
			channels, err := s.Do("PUBSUB", "CHANNELS")
			left, ok := channels.([]any)
			return err == nil && ok && len(left) == 0
		}, 10*time.Second, time.Millisecond)
	}
}

func TestProxyPassesReplication(t *testing.T) {
	t.Parallel()
	master, p := through(t)
	replica := redistest.Start(t)
	master.MustDo("SET", "key", "old")
	replica.ReplicaOfAddr(p.Addr())
	require.Equal(t, "old", replica.MustDo("GET", "key"))
	master.MustDo("SET", "key", "new")
	requireValue(t, replica, "key", "new")

	p.Stall()
	master.MustDo("SET", "key", "late")
	require.Equal(t, "new", replica.MustDo("GET", "key"))
	p.Pass()
	requireValue(t, replica, "key", "late")
}

func TestProxyPassesMonitor(t *testing.T) {
	t.Parallel()
	s, p := through(t)
	c := dial(t, p.Addr())
	reply, err := c.Do("MONITOR")
	require.NoError(t, err)
	require.Equal(t, "OK", reply)
	s.MustDo("SET", "key", "value")
	reply, err = c.Receive()
	require.NoError(t, err)
	require.Contains(t, reply, `"SET" "key" "value"`)
}

// receiveList receives an array or a push.
func receiveList(t *testing.T, c *redistest.Conn) []any {
	t.Helper()
	reply, err := c.Receive()
	require.NoError(t, err)
	if push, ok := reply.(redistest.Push); ok {
		return push
	}
	list, ok := reply.([]any)
	require.True(t, ok, "%v", reply)
	return list
}

// receivePong receives the answer to PING, which differs by version.
func receivePong(t *testing.T, c *redistest.Conn) {
	t.Helper()
	reply, err := c.Receive()
	require.NoError(t, err)
	if list, ok := reply.([]any); ok {
		reply = list[0]
		require.Equal(t, "pong", reply)
		return
	}
	require.Equal(t, "PONG", reply)
}
