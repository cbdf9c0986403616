package redislock_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/lock/redislock"
)

// nowhere is an address at which nothing answers; New must not mind.
const nowhere = "127.0.0.1:1"

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	plain := redis.NewClient(&redis.Options{Addr: nowhere, ReadTimeout: time.Second})
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"one": nowhere}})
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{nowhere}, ReadTimeout: time.Second})
	piped, err := plain.AutoPipeline()
	require.NoError(t, err)
	async, err := plain.AsyncAutoPipeline()
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = plain.Close()
		_ = ring.Close()
		_ = cluster.Close()
	})

	for _, test := range []struct {
		name   string
		client redislock.Client
		o      redislock.Options
		says   []string
	}{
		{"nil", nil, redislock.Options{}, []string{"nil client"}},
		{"nil Client", (*redis.Client)(nil), redislock.Options{}, []string{"nil client"}},
		{"nil ClusterClient", (*redis.ClusterClient)(nil), redislock.Options{}, []string{"nil client"}},
		{"nil AutoPipeliner", (*redis.AutoPipeliner)(nil), redislock.Options{}, []string{"nil client"}},
		{"Ring", ring, redislock.Options{}, []string{"FixedRing"}},
		{"Ring behind an interface", redis.UniversalClient(ring), redislock.Options{}, []string{"FixedRing"}},
		{"embedded Ring", struct{ *redis.Ring }{ring}, redislock.Options{}, []string{"FixedRing"}},
		{"replicas", piped, redislock.Options{Replicas: 1}, []string{"Replicas", "AutoPipeliner"}},
		{"replicas, async", async, redislock.Options{Replicas: 1}, []string{"Replicas", "AutoPipeliner"}},
		{"too slow", plain, redislock.Options{Replicas: 1, ReplicaTimeout: time.Second}, []string{"ReadTimeout"}},
		{"too slow, Cluster", cluster, redislock.Options{Replicas: 1, ReplicaTimeout: time.Second}, []string{"ReadTimeout"}},
		{"all at once", ring, redislock.Options{Replicas: -1, ReplicaTimeout: -1}, []string{"FixedRing", "Replicas", "ReplicaTimeout"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := redislock.New(test.client, test.o)
			require.ErrorIs(t, err, lock.ErrInvalid)
			for _, text := range test.says {
				require.ErrorContains(t, err, text)
			}
		})
	}
}

func TestNewSendsNothing(t *testing.T) {
	t.Parallel()
	plain := redis.NewClient(&redis.Options{Addr: nowhere})
	failover := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "m", SentinelAddrs: []string{nowhere}})
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{nowhere}})
	ring := redis.NewRing(&redis.RingOptions{
		Addrs: map[string]string{"one": nowhere}, HeartbeatFn: alwaysUp,
	})
	piped, err := cluster.AutoPipeline()
	require.NoError(t, err)
	async, err := failover.AsyncAutoPipeline()
	require.NoError(t, err)
	type hooked interface {
		redislock.Client
		AddHook(hook redis.Hook)
	}
	for _, client := range []hooked{plain, failover, cluster, ring, piped, async} {
		sent := &recorder{}
		client.AddHook(sent)
		b, err := redislock.New(client, redislock.Options{FixedRing: true})
		require.NoError(t, err)
		require.Equal(t, client == hooked(async), b.Interruptible())
		_ = b.Node("k")
		require.Empty(t, sent.commands())
	}
	for _, client := range []interface{ Close() error }{plain, failover, cluster, ring} {
		require.NoError(t, client.Close())
	}
}

func TestPrefixesAreApart(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s store) {
		other := store{Backend: backend(t, s.rdb, redislock.Options{Prefix: "a*[b]\\?:"}), rdb: s.rdb}
		decoy := store{Backend: backend(t, s.rdb, redislock.Options{Prefix: "aXb\\Y:"}), rdb: s.rdb}
		s.acquire(t, "k", "one")
		other.acquire(t, "k", "two")
		decoy.acquire(t, "k", "three")
		for want, b := range map[string]store{"one": s, "two": other, "three": decoy} {
			var got []string
			for info, err := range b.List(t.Context()) {
				require.NoError(t, err)
				require.Equal(t, "k", info.Key)
				got = append(got, info.Nonce)
			}
			require.Equal(t, []string{want}, got)
		}
	})
}
