package redisclient_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/redisclient"
	"github.com/semel-go/semel/internal/redistest"
)

func listen(t *testing.T, client redisclient.Client) (*redisclient.Listener, chan string) {
	t.Helper()
	heard := make(chan string, 1000)
	l := newRedis(t, client, redisclient.Options{FixedRing: true}).Listen(func(channel string) { heard <- channel })
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l, heard
}

// hears waits until all of channels are heard, in whatever order.
func hears(t *testing.T, heard chan string, channels ...string) {
	t.Helper()
	missing := map[string]bool{}
	for _, channel := range channels {
		missing[channel] = true
	}
	for timeout := time.After(60 * time.Second); len(missing) > 0; {
		select {
		case got := <-heard:
			delete(missing, got)
		case <-timeout:
			t.Fatalf("not heard: %v", missing)
		}
	}
}

func noChannels(t *testing.T, rdb *redis.Client) {
	t.Helper()
	require.Eventually(t, func() bool {
		return len(rdb.PubSubChannels(t.Context(), "*").Val()) == 0
	}, 30*time.Second, time.Millisecond)
}

func TestListener(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	rdb := connect(t, server.Addr())
	l, heard := listen(t, connect(t, proxy.Addr()))
	require.Zero(t, proxy.Conns(), "nothing is opened before it is wanted")
	l.Unwatch("never watched")
	l.Watch("a")
	hears(t, heard, "a")
	l.Watch("b")
	hears(t, heard, "b")
	require.Equal(t, 1, proxy.Conns(), "one connection")
	require.NoError(t, rdb.Publish(t.Context(), "a", "").Err())
	hears(t, heard, "a")

	// Whatever happens to the connection, everything is told again.
	for name, fault := range map[string]func(){
		"cut":       proxy.CutAll,
		"killed":    func() { rdb.Do(t.Context(), "CLIENT", "KILL", "TYPE", "pubsub") },
		"restarted": server.Restart,
	} {
		fault()
		hears(t, heard, "a", "b")
		require.NoError(t, rdb.Publish(t.Context(), "b", "").Err(), name)
		hears(t, heard, "b")
	}
	l.Unwatch("a")
	l.Unwatch("b")
	noChannels(t, rdb)
	require.NoError(t, l.Close())
	require.NoError(t, l.Close())
	l.Watch("c")
	l.Unwatch("c")
	noChannels(t, rdb)
}

// TestListenerHalfOpen is a connection on which nothing arrives any more: it is
// given up for a new one, and everything is told again.
func TestListenerHalfOpen(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	l, heard := listen(t, connect(t, proxy.Addr()))
	l.Watch("a")
	hears(t, heard, "a")
	for _, fault := range []func(){proxy.HalfOpen, proxy.BlackHole} {
		hellos := proxy.Count("HELLO")
		fault()
		// It connects anew only because it has found the old one dead.
		require.Eventually(t, func() bool { return proxy.Count("HELLO") > hellos }, 60*time.Second, time.Millisecond)
		proxy.Pass() // New connections are good; one that lost something stays dead.
		hears(t, heard, "a")
	}
}

// TestListenerNobody has no server at all: Watch and Close do not wait for it.
func TestListenerNobody(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Kill()
	l, heard := listen(t, connect(t, server.Addr()))
	var channels []string
	for i := range 100 {
		channels = append(channels, fmt.Sprint(i))
		l.Watch(channels[i])
	}
	server.Restart()
	hears(t, heard, channels...)
	server.Kill()
	l.Watch("another")
	require.NoError(t, l.Close())
}

// TestListenerRing has a connection for each shard in use.
func TestListenerRing(t *testing.T) {
	t.Parallel()
	shards := map[string]*redistest.Server{"a": redistest.Start(t), "b": redistest.Start(t), "c": redistest.Start(t)}
	addrs := map[string]string{}
	for name, server := range shards {
		addrs[name] = server.Addr()
	}
	ring := redis.NewRing(&redis.RingOptions{
		Addrs: addrs, HeartbeatFn: func(context.Context, *redis.Client) bool { return true },
	})
	t.Cleanup(func() { _ = ring.Close() })
	l, heard := listen(t, ring)
	for i := range 30 {
		channel := fmt.Sprint(i)
		l.Watch(channel)
		hears(t, heard, channel)
		shard, err := ring.GetShardClientForKey(channel)
		require.NoError(t, err)
		require.NoError(t, shard.Publish(t.Context(), channel, "").Err())
		hears(t, heard, channel)
	}
	require.NoError(t, l.Close())
	for _, server := range shards {
		noChannels(t, connect(t, server.Addr()))
	}
}
