package redistest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/redistest"
)

func TestKeySlotIsTheServers(t *testing.T) {
	t.Parallel()
	require.Equal(t, 12739, redistest.KeySlot("123456789"))
	redistest.Require(t)
	s := redistest.Start(t, redistest.Options{Config: []string{"cluster-enabled yes"}})
	for _, key := range []string{
		"", "a", "foo{bar}baz", "{}x", "{}{x}", "a{b", "a}b{c}", "{{x}}", "a{}b{c}", "}{", "\x00\xff{\xfe}", strings.Repeat("x", 1000),
	} {
		require.Equal(t, s.MustDo("CLUSTER", "KEYSLOT", key), int64(redistest.KeySlot(key)), "%q", key)
	}
}

func TestClusterMovesASlot(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3)
	require.Len(t, c.Addrs(), 3)
	owners := make(map[*redistest.Server]int)
	for slot := 0; slot < 16384; slot += 1024 {
		owners[c.NodeForSlot(slot)]++
	}
	require.Len(t, owners, 3)

	key := func(i int) string { return fmt.Sprintf("{moving}:%d", i) }
	slot := redistest.KeySlot(key(0))
	from := c.NodeForKey(key(0))
	var to *redistest.Server
	for _, node := range c.Nodes() {
		if node != from {
			to = node
		}
	}
	for i := range 3 {
		from.MustDo("SET", key(i), i)
	}
	_, err := to.Do("GET", key(0))
	require.EqualError(t, err, fmt.Sprintf("MOVED %d %s", slot, from.Addr()))

	m := c.MigrateSlot(slot, to)
	require.Same(t, from, m.From)
	require.Equal(t, 1, m.MoveKeys(key(1)))
	require.Equal(t, "0", from.MustDo("GET", key(0)))
	_, err = from.Do("GET", key(1))
	require.EqualError(t, err, fmt.Sprintf("ASK %d %s", slot, to.Addr()))
	_, err = from.Do("MGET", key(0), key(1))
	require.ErrorContains(t, err, "TRYAGAIN")
	asked := dial(t, to.Addr())
	_, err = asked.Do("ASKING")
	require.NoError(t, err)
	reply, err := asked.Do("GET", key(1))
	require.NoError(t, err)
	require.Equal(t, "1", reply)

	m.Abort()
	require.Equal(t, "1", from.MustDo("GET", key(1)))
	require.Zero(t, to.MustDo("DBSIZE"))
	_, err = from.Do("GET", "{moving}:absent")
	require.NoError(t, err)

	m = c.MigrateSlot(slot, to)
	require.Equal(t, 2, m.MoveKeys(key(0), key(2)))
	m.Finish()
	require.Same(t, to, c.NodeForSlot(slot))
	require.Equal(t, "2", to.MustDo("GET", key(2)))
	_, err = from.Do("GET", key(2))
	require.EqualError(t, err, fmt.Sprintf("MOVED %d %s", slot, to.Addr()))

	from.Restart() // A node knows its Cluster again.
	c.WaitOK()
	require.Equal(t, "2", to.MustDo("GET", key(2)))
}

func TestClusterFailsOver(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, redistest.ClusterOptions{Replicas: 1, NodeTimeout: time.Second})
	const key = "key"
	first := c.NodeForKey(key)
	var replica *redistest.Server
	for i, node := range c.Nodes()[:3] {
		if node == first {
			replica = c.Nodes()[3+i]
		}
	}
	first.MustDo("SET", key, "kept")
	c.Failover(replica)
	require.Same(t, replica, c.NodeForKey(key))
	require.Equal(t, "kept", replica.MustDo("GET", key))

	replica.HoldReplicas()
	replica.MustDo("SET", key, "lost")
	replica.Kill()
	require.Same(t, first, c.NodeForKey(key))
	require.Equal(t, "kept", first.MustDo("GET", key))
}
