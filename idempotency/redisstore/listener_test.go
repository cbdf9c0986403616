package redisstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/internal/redistest"
	"github.com/semel-go/semel/lock"
)

// listen returns a listener and what it hears.
func (e env) listen(t *testing.T) (lock.Listener, chan string) {
	t.Helper()
	heard := make(chan string, 1000)
	l := e.Listen(func(key string) { heard <- key })
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l, heard
}

// hears waits for the next news, which must be of key.
func hears(t *testing.T, heard chan string, key idempotency.Digest) {
	t.Helper()
	select {
	case got := <-heard:
		require.Equal(t, string(key[:]), got)
	case <-time.After(30 * time.Second):
		t.Fatal("nothing is heard")
	}
}

// TestListenEnds has every way in which a key can become free, or complete, tell
// those who wait.
func TestListenEnds(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		l, heard := e.listen(t)
		for name, end := range map[string]func(key idempotency.Digest, nonce idempotency.Nonce, b idempotency.Begun) error{
			"release": func(key idempotency.Digest, nonce idempotency.Nonce, _ idempotency.Begun) error {
				return e.Release(t.Context(), idempotency.ReleaseRequest{Key: key, Nonce: nonce, TTL: stub})
			},
			"release later": func(key idempotency.Digest, nonce idempotency.Nonce, _ idempotency.Begun) error {
				return e.Release(t.Context(), idempotency.ReleaseRequest{Key: key, Nonce: nonce, TTL: stub, NotBefore: keep})
			},
			"unknown": func(key idempotency.Digest, nonce idempotency.Nonce, _ idempotency.Begun) error {
				return e.Release(t.Context(), idempotency.ReleaseRequest{Key: key, Nonce: nonce, TTL: stub, Unknown: keep})
			},
			"compensate": func(key idempotency.Digest, nonce idempotency.Nonce, _ idempotency.Begun) error {
				return e.Release(t.Context(), idempotency.ReleaseRequest{Key: key, Nonce: nonce, TTL: stub, Compensate: true})
			},
			"complete": func(key idempotency.Digest, nonce idempotency.Nonce, b idempotency.Begun) error {
				_, err := e.Complete(t.Context(), idempotency.CompleteRequest{Key: key, Record: record(nonce, b), Retention: keep})
				return err
			},
			"forget": func(key idempotency.Digest, _ idempotency.Nonce, _ idempotency.Begun) error {
				_, err := e.Forget(t.Context(), key, stub)
				return err
			},
			"force complete": func(key idempotency.Digest, nonce idempotency.Nonce, b idempotency.Begun) error {
				_, err := e.ForceComplete(t.Context(), idempotency.CompleteRequest{Key: key, Record: record(nonce, b), Retention: keep})
				return err
			},
			"release dead": func(key idempotency.Digest, nonce idempotency.Nonce, _ idempotency.Begun) error {
				_, err := e.ReleaseDead(t.Context(), key, nonce, stub)
				return err
			},
		} {
			for _, waiting := range []bool{true, false} {
				key, nonce := digestOf(t, fmt.Sprint(name, waiting)), newNonce()
				b := e.begin(t, key, nonce)
				e.refused(t, key, waiting)
				l.Watch(string(key[:]))
				hears(t, heard, key) // It stands.
				require.NoError(t, end(key, nonce, b), name)
				if waiting {
					hears(t, heard, key)
					require.False(t, e.look(t, key).Waiters, name)
				}
				l.Unwatch(string(key[:]))
			}
		}
		// Had anything more been published, it would be heard before this.
		key := digestOf(t, "last")
		l.Watch(string(key[:]))
		hears(t, heard, key)
		require.Empty(t, heard, "without a waiter nothing is published")
	})
}

// TestListenFreeLater tells those who wait for a key that may not be claimed
// yet, if that changes.
func TestListenFreeLater(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		l, heard := e.listen(t)
		key := digestOf(t, "a")
		e.arrange(t, "free later", key, newNonce())
		e.refused(t, key, true)
		l.Watch(string(key[:]))
		hears(t, heard, key)
		found, err := e.Forget(t.Context(), key, stub)
		require.NoError(t, err)
		require.True(t, found)
		hears(t, heard, key)
		e.begin(t, key, newNonce())
	})
}

// TestListenAgain cuts the connection: what was said meanwhile went unheard, so
// every key is told again.
func TestListenAgain(t *testing.T) {
	t.Parallel()
	e := connect(t, redistest.Start(t).Addr())
	l, heard := e.listen(t)
	key := digestOf(t, "a")
	l.Watch(string(key[:]))
	hears(t, heard, key)
	for range 3 {
		e.mustDo(t, "CLIENT", "KILL", "TYPE", "pubsub")
		hears(t, heard, key)
	}
	l.Unwatch(string(key[:]))
	require.Eventually(t, func() bool {
		return len(e.rdb.PubSubChannels(t.Context(), "*").Val()) == 0
	}, 10*time.Second, time.Millisecond)
	require.NoError(t, l.Close())
	l.Watch(string(key[:])) // It does nothing.
	require.NoError(t, l.Close())
}

// TestListenMany watches and leaves many keys.
func TestListenMany(t *testing.T) {
	t.Parallel()
	e := connect(t, redistest.Start(t).Addr())
	const many = 10_000
	heard := make(chan string, 2*many)
	l := e.Listen(func(key string) { heard <- key })
	for i := range many {
		key := digestOf(t, fmt.Sprint(i))
		l.Watch(string(key[:]))
	}
	all := map[string]bool{}
	for len(all) < many {
		select {
		case key := <-heard:
			all[key] = true
		case <-time.After(30 * time.Second):
			t.Fatalf("%d of %d are heard", len(all), many)
		}
	}
	for i := range many {
		key := digestOf(t, fmt.Sprint(i))
		l.Unwatch(string(key[:]))
	}
	require.Eventually(t, func() bool {
		return len(e.rdb.PubSubChannels(t.Context(), "*").Val()) == 0
	}, 10*time.Second, time.Millisecond)
	require.NoError(t, l.Close())
}
