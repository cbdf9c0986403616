package redisstore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/redisstore"
	"github.com/semel-go/semel/internal/redistest"
	"github.com/semel-go/semel/lock"
)

// TestReplicasUnmet asks for a replica that there is none of: a claim is undone,
// an outcome stays and is not acknowledged.
func TestReplicasUnmet(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		careful := newStore(t, e.rdb, redisstore.Options{Replicas: 1, ReplicaTimeout: 10 * time.Millisecond})
		unmet := func(err error) {
			t.Helper()
			require.ErrorIs(t, err, lock.ErrUnavailable)
			require.ErrorContains(t, err, "0 of the 1 replicas")
			require.NotErrorIs(t, err, lock.ErrLost)
		}
		key, nonce := digestOf(t, "a"), newNonce()
		b, err := careful.Begin(t.Context(), request(key, nonce))
		unmet(err)
		require.Zero(t, b)
		info := e.look(t, key)
		require.Equal(t, idempotency.StateFree, info.State)
		require.Zero(t, info.Record.Attempt, "nobody has run")
		_, err = careful.Begin(t.Context(), request(key, nonce))
		require.ErrorIs(t, err, lock.ErrSpent)

		nonce = newNonce()
		b = e.begin(t, key, nonce)
		require.EqualValues(t, 1, b.Attempt)
		held, err := careful.Begin(t.Context(), request(key, newNonce()))
		require.NoError(t, err, "a refusal needs no replica")
		require.Equal(t, idempotency.StateHeld, held.State)

		r := idempotency.CompleteRequest{Key: key, Record: record(nonce, b), Retention: keep}
		for range 2 {
			_, err = careful.Complete(t.Context(), r)
			unmet(err)
			require.Equal(t, r.Record, e.look(t, key).Record)
		}
		r.Record.Nonce = newNonce()
		_, err = careful.Complete(t.Context(), r)
		require.ErrorIs(t, err, lock.ErrTaken)
		done, err := careful.ForceComplete(t.Context(), r)
		require.NoError(t, err)
		require.False(t, done)

		_, err = careful.Bind(t.Context(), key, key, keep)
		unmet(err)
		_, err = careful.Bind(t.Context(), key, key, keep)
		unmet(err)
		same, err := careful.Bind(t.Context(), key, digestOf(t, "other"), keep)
		require.NoError(t, err)
		require.False(t, same)

		key = digestOf(t, "unknown")
		e.begin(t, key, nonce)
		end := idempotency.ReleaseRequest{Key: key, Nonce: nonce, TTL: stub, Unknown: keep}
		for range 2 {
			unmet(careful.Release(t.Context(), end))
			require.Equal(t, idempotency.StateUnknown, e.look(t, key).State)
		}
		key = digestOf(t, "released")
		e.begin(t, key, nonce)
		require.NoError(t, careful.Release(t.Context(), idempotency.ReleaseRequest{Key: key, Nonce: nonce, TTL: stub}))
	})
}

// TestReplicas has a replica: what was acknowledged survives the loss of the
// master, in one round trip each.
func TestReplicas(t *testing.T) {
	t.Parallel()
	group := redistest.StartReplicated(t)
	rdb := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: group.MasterName(), SentinelAddrs: group.SentinelAddrs(),
	})
	t.Cleanup(func() { _ = rdb.Close() })
	// Generous: this machine may be busy.
	careful := env{Store: newStore(t, rdb, redisstore.Options{Replicas: 1, ReplicaTimeout: 2 * time.Second}), rdb: rdb}
	sent := &recorder{}
	rdb.AddHook(sent)

	running, done := digestOf(t, "running"), digestOf(t, "done")
	nonce := newNonce()
	b := careful.begin(t, done, nonce)
	careful.complete(t, done, record(nonce, b))
	sent.take()
	claim := careful.begin(t, running, nonce)
	require.Equal(t, []string{"evalsha+wait"}, sent.take())
	_, err := careful.Bind(t.Context(), done, done, keep)
	require.NoError(t, err)

	group.KillMaster()
	require.Eventually(t, func() bool { return rdb.Ping(t.Context()).Err() == nil }, 30*time.Second, 10*time.Millisecond)
	plain := env{Store: newStore(t, rdb, redisstore.Options{}), rdb: rdb}
	// The scripts are unknown to the new master.
	require.Equal(t, record(nonce, b).Body, plain.refused(t, done, false).Record.Body)
	require.Equal(t, claim, plain.begin(t, running, nonce), "the claim is there")
	same, err := plain.Bind(t.Context(), done, running, keep)
	require.NoError(t, err)
	require.False(t, same)

	// The one that is left has no replica.
	_, err = careful.Begin(t.Context(), request(digestOf(t, "alone"), newNonce()))
	require.ErrorIs(t, err, lock.ErrUnavailable)
	plain.noneForever(t)
}

// TestSentinelLoss loses what no replica had: it runs again, with a higher
// fence, and the late owner completes nothing.
func TestSentinelLoss(t *testing.T) {
	t.Parallel()
	group := redistest.StartReplicated(t)
	rdb := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: group.MasterName(), SentinelAddrs: group.SentinelAddrs(),
	})
	t.Cleanup(func() { _ = rdb.Close() })
	e := env{Store: newStore(t, rdb, redisstore.Options{}), rdb: rdb}
	fences := map[idempotency.Digest]uint64{}
	nonce := newNonce()
	group.Master().HoldReplicas()
	for i := range 100 {
		key := digestOf(t, fmt.Sprint(i))
		fences[key] = e.begin(t, key, nonce).Fence
	}
	group.KillMaster()
	require.Eventually(t, func() bool { return rdb.Ping(t.Context()).Err() == nil }, 30*time.Second, 10*time.Millisecond)
	for key, fence := range fences {
		b := e.begin(t, key, newNonce())
		require.Greater(t, b.Fence, fence)
		_, err := e.Complete(t.Context(), idempotency.CompleteRequest{
			Key: key, Record: record(nonce, idempotency.Begun{Fence: fence}), Retention: keep,
		})
		require.ErrorIs(t, err, lock.ErrTaken)
	}
}

// cluster returns a Cluster and a client for it.
func cluster(t *testing.T, o ...redistest.ClusterOptions) (*redistest.Cluster, *redis.ClusterClient) {
	t.Helper()
	grid := redistest.StartCluster(t, 3, o...)
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: grid.Addrs()})
	t.Cleanup(func() { _ = rdb.Close() })
	return grid, rdb
}

func TestCluster(t *testing.T) {
	t.Parallel()
	grid, rdb := cluster(t)
	single := redis.NewClient(&redis.Options{Addr: grid.Addrs()[0]})
	t.Cleanup(func() { _ = single.Close() })
	blocking, err := rdb.AutoPipeline()
	require.NoError(t, err)
	t.Cleanup(func() { _ = blocking.Close() })

	t.Run("plain", func(t *testing.T) {
		e := env{Store: newStore(t, rdb, redisstore.Options{}), rdb: single}
		e.live(t, 200)
		nodes := map[string]bool{}
		for i := range 200 {
			key := digestOf(t, fmt.Sprint(i))
			require.Equal(t, grid.NodeForKey(nameOf(key)).Addr(), e.Node(key))
			nodes[e.Node(key)] = true
		}
		require.Len(t, nodes, 3)

		l, heard := e.listen(t)
		for i := range 20 {
			key, nonce := digestOf(t, fmt.Sprint("heard", i)), newNonce()
			e.begin(t, key, nonce)
			e.refused(t, key, true)
			l.Watch(string(key[:]))
			hears(t, heard, key)
			e.release(t, key, nonce)
			hears(t, heard, key)
		}
	})
	t.Run("piped", func(t *testing.T) {
		s := newStore(t, blocking, redisstore.Options{})
		for i := range 50 {
			key, nonce := digestOf(t, fmt.Sprint(i)), newNonce()
			b, err := s.Begin(t.Context(), request(key, nonce))
			require.NoError(t, err)
			_, err = s.Complete(t.Context(), idempotency.CompleteRequest{Key: key, Record: record(nonce, b), Retention: keep})
			require.NoError(t, err)
			require.Empty(t, s.Node(key))
		}
		for _, err := range s.List(t.Context(), idempotency.ListOptions{}) {
			require.ErrorContains(t, err, "use its ClusterClient")
		}
	})
	for _, node := range grid.Nodes() {
		stats, err := node.Info("errorstats")
		require.NoError(t, err)
		require.NotContains(t, stats, "errorstat_CROSSSLOT")
		keys, err := node.Do("KEYS", "*")
		require.NoError(t, err)
		for _, key := range keys.([]any) {
			left := node.MustDo("PTTL", key).(int64)
			require.NotEqualValues(t, -1, left, "%s has no expiry", key)
		}
	}
}

// TestClusterMigration works on keys while their slot moves, with WAIT, whose
// connection has to be the right one.
func TestClusterMigration(t *testing.T) {
	t.Parallel()
	grid, rdb := cluster(t, redistest.ClusterOptions{Replicas: 1})
	plain := env{Store: newStore(t, rdb, redisstore.Options{})}
	careful := env{Store: newStore(t, rdb, redisstore.Options{Replicas: 1, ReplicaTimeout: 2 * time.Second})}
	for name, e := range map[string]env{"plain": plain, "careful": careful} {
		t.Run(name, func(t *testing.T) {
			// Two keys in one slot: one moves first, one stays until the end.
			moves := digestOf(t, "moves")
			slot := redistest.KeySlot(nameOf(moves))
			var stays, fresh idempotency.Digest
			var found []idempotency.Digest
			for i := 0; len(found) < 2; i++ {
				if d := digestOf(t, fmt.Sprint(i)); redistest.KeySlot(nameOf(d)) == slot {
					found = append(found, d)
				}
			}
			stays, fresh = found[0], found[1]
			nonce := newNonce()
			claims := map[idempotency.Digest]idempotency.Begun{
				moves: e.begin(t, moves, nonce), stays: e.begin(t, stays, nonce),
			}
			from := grid.NodeForSlot(slot)
			masters := grid.Nodes()[:3]
			to := masters[(slices.Index(masters, from)+1)%3]
			migration := grid.MigrateSlot(slot, to)
			migration.MoveKeys(nameOf(moves))

			claims[fresh] = e.begin(t, fresh, nonce) // by ASK
			for key, b := range claims {
				require.Equal(t, b, e.begin(t, key, nonce))
				require.NoError(t, e.Renew(t.Context(), idempotency.RenewRequest{Key: key, Nonce: nonce, Lease: 2 * lease}))
				require.Equal(t, idempotency.StateHeld, e.refused(t, key, true).State)
			}
			require.False(t, e.complete(t, moves, record(nonce, claims[moves])))
			migration.Finish()
			for _, key := range []idempotency.Digest{stays, fresh} {
				require.False(t, e.complete(t, key, record(nonce, claims[key]))) // by MOVED
			}
			for key := range claims {
				require.Equal(t, idempotency.StateCompleted, e.refused(t, key, false).State)
				info := e.look(t, key)
				require.Equal(t, nonce, info.Record.Nonce)
				require.False(t, strings.Contains(e.Node(key), from.Addr()) && from == grid.NodeForKey(nameOf(key)))
			}
		})
	}
}

// TestClusterFailover promotes a replica, which does not know the scripts.
func TestClusterFailover(t *testing.T) {
	t.Parallel()
	grid, rdb := cluster(t, redistest.ClusterOptions{Replicas: 1})
	e := env{Store: newStore(t, rdb, redisstore.Options{Replicas: 1, ReplicaTimeout: 2 * time.Second})}
	key, nonce := digestOf(t, "a"), newNonce()
	b := e.begin(t, key, nonce)
	master := grid.NodeForKey(nameOf(key))
	masters := grid.Nodes()[:3]
	grid.Failover(grid.Nodes()[3+slices.Index(masters, master)])
	require.False(t, e.complete(t, key, record(nonce, b)))
	require.Equal(t, record(nonce, b).Fence, e.refused(t, key, false).Record.Fence)
}
