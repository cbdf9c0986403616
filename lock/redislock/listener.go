package redislock

import (
	"github.com/semel-go/semel/internal/redisclient"
	"github.com/semel-go/semel/lock"
)

// Listen implements [lock.Waiter]. The connection is opened by the first Watch
// and stays until Close, also while nothing is watched; a Ring has one for each
// shard in use. A connection that says nothing for some seconds, although it is
// asked, is given up for a new one. Where the server does not allow
// subscriptions nothing is ever told, and those who wait find out when the
// remaining time they were told is over.
//
// notify must not block, and must not call Close.
func (b *Backend) Listen(notify func(key string)) lock.Listener {
	return &listener{
		prefix: b.prefix,
		// A channel is named like the key's Redis key.
		channels: b.redis.Listen(func(channel string) { notify(channel[len(b.prefix):]) }),
	}
}

// listener watches the channels of keys.
type listener struct {
	prefix   string
	channels *redisclient.Listener
}

// Watch implements [lock.Listener].
func (l *listener) Watch(key string) { l.channels.Watch(l.prefix + key) }

// Unwatch implements [lock.Listener].
func (l *listener) Unwatch(key string) { l.channels.Unwatch(l.prefix + key) }

// Close implements [lock.Listener]. It waits for a connection that is just
// being made, if the client cannot interrupt that.
func (l *listener) Close() error { return l.channels.Close() }
