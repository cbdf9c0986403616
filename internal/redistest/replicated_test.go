package redistest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/redistest"
)

func TestHeldReplicasMissWhatFollows(t *testing.T) {
	t.Parallel()
	master, replica := redistest.Start(t), redistest.Start(t)
	replica.ReplicaOf(master)
	master.MustDo("SET", "key", "old")
	master.HoldReplicas()
	master.MustDo("SET", "key", "new")
	require.Equal(t, "old", replica.MustDo("GET", "key"))
	require.Equal(t, "new", master.MustDo("GET", "key"))
	master.ReleaseReplicas()
	requireValue(t, replica, "key", "new")
	master.HoldReplicas()
	master.MustDo("SET", "key", "newer")
	master.Kill()
	replica.ReplicaOf(nil)
	require.Equal(t, "new", replica.MustDo("GET", "key"))
}

func TestSentinelFailover(t *testing.T) {
	t.Parallel()
	group := redistest.StartReplicated(t)
	first := group.Master()
	require.Same(t, group.Servers()[0], first)
	require.Len(t, group.Replicas(), 1)
	require.Len(t, group.SentinelAddrs(), 3)
	first.MustDo("SET", "key", "value")

	second := group.Failover()
	require.NotSame(t, first, second)
	require.Same(t, second, group.Master())
	require.Equal(t, []*redistest.Server{first}, group.Replicas())
	require.Equal(t, "value", second.MustDo("GET", "key"))
	_, err := first.Do("SET", "key", "stale")
	require.ErrorContains(t, err, "READONLY")

	second.MustDo("SET", "key", "newer")
	requireValue(t, first, "key", "newer")
	require.Same(t, first, group.Failover())
}

func TestSentinelsReplaceADeadMaster(t *testing.T) {
	t.Parallel()
	group := redistest.StartReplicated(t, redistest.ReplicatedOptions{Replicas: 2})
	old := group.Master()
	old.MustDo("SET", "key", "kept")
	old.HoldReplicas()
	old.MustDo("SET", "key", "lost")

	master := group.KillMaster()
	require.NotSame(t, old, master)
	require.Equal(t, "kept", master.MustDo("GET", "key"))
	old.Restart()
	require.Eventually(t, func() bool {
		info, err := old.Info("replication")
		return err == nil && info["role"] == "slave" && info["master_link_status"] == "up"
	}, 30*time.Second, 10*time.Millisecond)
	require.Equal(t, "kept", old.MustDo("GET", "key"))
	require.Same(t, master, group.Master())
}
