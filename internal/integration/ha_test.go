package integration_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/redistest"
	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/lock/redislock"
	"github.com/semel-go/semel/observe"
)

// haTTL is long enough for a failover on a busy machine to fit between two
// renewals and the end of the window.
const haTTL = 12 * time.Second

// renewedSince waits until each of the leases was renewed anew, and insists that
// none was lost.
func renewedSince(t *testing.T, d *diary, since time.Time, leases ...*lock.Lease) {
	t.Helper()
	eventually(t, "every lease is renewed", func() bool {
		seen := map[string]bool{}
		for _, e := range d.of(observe.Renewed) {
			if e.Time.After(since) {
				seen[e.Key] = true
			}
		}
		return len(seen) == len(leases) || len(d.of(observe.Lost)) > 0
	})
	for _, e := range d.of(observe.Lost) {
		t.Errorf("lost %q after %v: %v", e.Key, e.Held, e.Err)
	}
	for _, lease := range leases {
		require.NoError(t, context.Cause(lease.Context()))
		require.True(t, lease.Valid())
	}
}

// The sentinels make a replica the master that has the grant: the lease is
// renewed there and is still exclusive.
func TestRenewalAcrossASentinelFailover(t *testing.T) {
	t.Parallel()
	group := redistest.StartReplicated(t)
	client := func() *redis.Client {
		rdb := redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: group.MasterName(), SentinelAddrs: group.SentinelAddrs(),
		})
		t.Cleanup(func() { _ = rdb.Close() })
		return rdb
	}
	d := &diary{}
	// The grant counts only when the replica has it.
	backend, err := redislock.New(client(), redislock.Options{Replicas: 1, ReplicaTimeout: 2 * time.Second})
	require.NoError(t, err)
	l, err := lock.New(backend, patient(lock.Options{TTL: haTTL, Observer: d}))
	require.NoError(t, err)
	t.Cleanup(func() { closeLocker(t, l) })
	other := newLocker(t, client(), lock.Options{})

	lease := acquire(t, l, "k")
	waiting := acquireLater(t.Context(), other, "k")
	eventually(t, "another waits", func() bool {
		info, err := backend.Look(t.Context(), "k")
		return err == nil && info.Waiters
	})
	group.Failover()
	renewedSince(t, d, time.Now(), lease)
	select {
	case got := <-waiting:
		t.Fatalf("granted to another: %v", got.err)
	default:
	}
	_, err = other.TryAcquire(t.Context(), "k")
	require.ErrorIs(t, err, lock.ErrNotAcquired)
	release(t, lease)
	got := await(t, waiting, "the key after a failover")
	require.NoError(t, got.err)
	require.Greater(t, got.lease.Fence(), lease.Fence())
	release(t, got.lease)
}

// Leases on all masters of a Cluster, one of which changes: all of them are
// renewed, in batches that no slot is mixed up in.
func TestRenewalAcrossAClusterFailover(t *testing.T) {
	t.Parallel()
	grid := redistest.StartCluster(t, 3, redistest.ClusterOptions{Replicas: 1})
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: grid.Addrs()})
	t.Cleanup(func() { _ = rdb.Close() })
	d := &diary{}
	l := newLocker(t, rdb, lock.Options{TTL: haTTL, Observer: d})
	var leases []*lock.Lease
	masters := map[string]bool{}
	for i := range 30 {
		lease := acquire(t, l, fmt.Sprint("k", i))
		leases = append(leases, lease)
		masters[grid.NodeForKey(lockPrefix+lease.Key()).Addr()] = true
	}
	require.Len(t, masters, 3)
	grid.Failover(grid.Nodes()[3]) // the first master's replica
	renewedSince(t, d, time.Now(), leases...)
	other := newLocker(t, rdb, lock.Options{})
	for _, lease := range leases {
		_, err := other.TryAcquire(t.Context(), lease.Key())
		require.ErrorIs(t, err, lock.ErrNotAcquired)
		release(t, lease)
		again := acquire(t, other, lease.Key())
		require.Greater(t, again.Fence(), lease.Fence())
		release(t, again)
	}
	for i, node := range grid.Nodes() {
		require.NotContains(t, errorsOf(t, node), "CROSSSLOT", "node %d", i)
	}
}

// A Ring whose shards stay what they are serves as well as one server.
func TestLockerOnAFixedRing(t *testing.T) {
	t.Parallel()
	addrs := map[string]string{}
	var servers []*redistest.Server
	for _, name := range []string{"a", "b", "c"} {
		server := redistest.Start(t)
		servers = append(servers, server)
		addrs[name] = server.Addr()
	}
	d := &diary{}
	var lockers []*lock.Locker
	for range 2 {
		ring := redis.NewRing(&redis.RingOptions{
			Addrs: addrs, HeartbeatFn: func(context.Context, *redis.Client) bool { return true },
		})
		t.Cleanup(func() { _ = ring.Close() })
		_, err := redislock.New(ring, redislock.Options{})
		require.ErrorIs(t, err, lock.ErrInvalid, "a Ring that moves keys grants them twice")
		backend, err := redislock.New(ring, redislock.Options{FixedRing: true})
		require.NoError(t, err)
		l, err := lock.New(backend, patient(lock.Options{Observer: d}))
		require.NoError(t, err)
		t.Cleanup(func() { closeLocker(t, l) })
		lockers = append(lockers, l)
	}

	// Both processes want all keys, on all shards.
	const keys = 12
	var owners [keys]sync.Mutex
	var work sync.WaitGroup
	for i := range 24 {
		work.Go(func() {
			for n := range keys {
				n = (n + i) % keys
				lease, err := lockers[i%2].Acquire(t.Context(), fmt.Sprint("k", n))
				if err != nil {
					t.Errorf("Acquire: %v", err)
					return
				}
				if !owners[n].TryLock() {
					t.Errorf("two owners of k%d", n)
					return
				}
				runtime.Gosched() // a second one would come now
				owners[n].Unlock()
				if err := lease.Release(t.Context()); err != nil {
					t.Errorf("Release: %v", err)
				}
			}
		})
	}
	work.Wait()
	require.NotEmpty(t, d.of(observe.HandedOver))

	brief := lockers[0].With(lock.Options{TTL: 5 * time.Second})
	var leases []*lock.Lease
	for n := range keys {
		leases = append(leases, acquire(t, brief, fmt.Sprint("k", n)))
	}
	for _, server := range servers {
		require.NotEqual(t, int64(0), server.MustDo("DBSIZE"), "every shard has some")
	}
	renewedSince(t, d, time.Now(), leases...)
	for _, lease := range leases {
		release(t, lease)
	}
}
