package redislock_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/redistest"
	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/lock/redislock"
)

// The client of every kind that a Cluster can have.
func clusterFaces(t *testing.T, grid *redistest.Cluster) map[string]redislock.Client {
	t.Helper()
	plain := redis.NewClusterClient(&redis.ClusterOptions{Addrs: grid.Addrs()})
	t.Cleanup(func() { _ = plain.Close() })
	piped, err := plain.AutoPipeline()
	require.NoError(t, err)
	async, err := plain.AsyncAutoPipeline()
	require.NoError(t, err)
	return map[string]redislock.Client{"plain": plain, "blocking": piped, "async": async}
}

func TestCluster(t *testing.T) {
	t.Parallel()
	grid := redistest.StartCluster(t, 3)
	for name, client := range clusterFaces(t, grid) {
		t.Run(name, func(t *testing.T) {
			b := backend(t, client, redislock.Options{Prefix: name + ":"})
			s := store{Backend: b}
			var reqs []lock.Request
			for i := range 60 {
				key := fmt.Sprint("k", i)
				s.acquire(t, key, "me")
				_, err := b.Acquire(t.Context(), request(key, "another"))
				require.ErrorIs(t, err, lock.ErrNotAcquired)
				reqs = append(reqs, request(key, []string{"me", "another"}[i%2]))
			}
			for _, node := range grid.Nodes() {
				node.MustDo("SCRIPT", "FLUSH")
			}
			grants, errs := b.ExtendBatch(t.Context(), reqs)
			for i := range reqs {
				if i%2 == 0 {
					require.NoError(t, errs[i])
					require.NotZero(t, grants[i].Fence)
				} else {
					require.ErrorIs(t, errs[i], lock.ErrTaken)
				}
			}
			listed := map[string]bool{}
			for info, err := range b.List(t.Context()) {
				if name != "plain" {
					require.ErrorContains(t, err, "ClusterClient")
					break
				}
				require.NoError(t, err)
				require.Equal(t, "me", info.Nonce)
				listed[info.Key] = true
			}
			report, err := b.Doctor(t.Context())
			if name == "plain" {
				require.Len(t, listed, len(reqs))
				require.NoError(t, err)
				require.Len(t, report.Servers, 3)
				require.Empty(t, report.Problems())
			} else {
				require.ErrorContains(t, err, "ClusterClient")
			}
			for i := range 60 {
				s.release(t, fmt.Sprint("k", i), "me")
			}
		})
	}
}

func TestClusterNodes(t *testing.T) {
	t.Parallel()
	grid := redistest.StartCluster(t, 3)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: grid.Addrs()})
	t.Cleanup(func() { _ = client.Close() })
	b := backend(t, client, redislock.Options{})
	require.Empty(t, b.Node("k"), "the table is not loaded by it")
	s := store{Backend: b}
	s.acquire(t, "k", "me")
	seen := map[string]bool{}
	for i := range 100 {
		key := fmt.Sprint("k", i)
		require.Equal(t, grid.NodeForKey(prefix+key).Addr(), b.Node(key))
		seen[b.Node(key)] = true
	}
	require.Len(t, seen, 3)
}

// A lock is one key, so that a slot on its way is no obstacle: what has not
// moved is served by the source, what has by the destination.
func TestClusterWhileItsSlotMoves(t *testing.T) {
	t.Parallel()
	grid := redistest.StartCluster(t, 3)
	faces := clusterFaces(t, grid)
	for name, client := range faces {
		t.Run(name, func(t *testing.T) {
			key := name + "{moving}"
			s := store{Backend: backend(t, client, redislock.Options{})}
			whileMoving(t, grid, s, key)
		})
	}
}

// Redirections are followed also where the client's own way of doing it is not
// used.
func TestClusterReplicasWhileTheSlotMoves(t *testing.T) {
	t.Parallel()
	grid := redistest.StartCluster(t, 3, redistest.ClusterOptions{Replicas: 1})
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: grid.Addrs()})
	t.Cleanup(func() { _ = client.Close() })
	s := store{Backend: backend(t, client, redislock.Options{Replicas: 1, ReplicaTimeout: 2 * time.Second})}
	whileMoving(t, grid, s, "{moving}")

	few := backend(t, client, redislock.Options{Replicas: 2, ReplicaTimeout: 10 * time.Millisecond})
	_, err := few.Acquire(t.Context(), request("few", "me"))
	require.ErrorIs(t, err, lock.ErrUnavailable)
	require.ErrorContains(t, err, "1 of the 2 replicas")
}

func whileMoving(t *testing.T, grid *redistest.Cluster, s store, key string) {
	t.Helper()
	slot := redistest.KeySlot(prefix + key)
	from := grid.NodeForSlot(slot)
	to := grid.Nodes()[0]
	if to.Addr() == from.Addr() {
		to = grid.Nodes()[1]
	}
	round := func(step string) {
		t.Helper()
		g := s.acquire(t, key, step)
		more, err := s.Extend(t.Context(), lock.Request{Key: key, Nonce: step, TTL: ttl, Block: 2})
		require.NoError(t, err)
		require.Greater(t, more.Fence, g.Fence)
		require.NoError(t, s.Raise(t.Context(), key, step, more.Fence+1))
		_, errs := s.ExtendBatch(t.Context(), []lock.Request{request(key, step), request(key, "another")})
		require.NoError(t, errs[0])
		require.ErrorIs(t, errs[1], lock.ErrTaken)
		_, err = s.Acquire(t.Context(), request(key, "another"))
		require.ErrorIs(t, err, lock.ErrNotAcquired)
		require.Equal(t, step, s.look(t, key).Nonce)
		s.release(t, key, step)
	}
	round("before")
	s.acquire(t, key, "held while it moves")
	moving := grid.MigrateSlot(slot, to)
	s.acquire(t, key, "held while it moves") // a copy; the key is still there
	require.Equal(t, 1, moving.MoveKeys(prefix+key))
	s.acquire(t, key, "held while it moves") // and now it is not
	to.MustDo("SCRIPT", "FLUSH")
	s.release(t, key, "held while it moves")
	round("moved")
	round("again")
	moving.Finish()
	round("after")
}
