package redislock

import (
	"sync"

	"github.com/semel-go/semel/lock"
)

// Listen implements [lock.Waiter]. The connection is opened by the first Watch
// and stays until Close, also while nothing is watched. A connection that says
// nothing for some seconds, although it is asked, is given up for a new one.
// Where the server does not allow subscriptions nothing is ever told, and those
// who wait find out when the remaining time they were told is over.
//
// notify must not block, and must not call Close.
func (b *Backend) Listen(notify func(key string)) lock.Listener {
	return &listener{
		backend: b,
		// A channel is named like the key's Redis key.
		notify: func(channel string) { notify(channel[len(b.prefix):]) },
		subs:   map[string]*subscription{},
	}
}

// listener is one subscription or, on a Ring, one for each shard in use: shards
// do not hear each other.
type listener struct {
	backend *Backend
	notify  func(channel string)

	mu     sync.Mutex
	closed bool
	subs   map[string]*subscription // by shard, "" if there are none
}

// Watch implements [lock.Listener].
func (l *listener) Watch(key string) {
	if s, channel := l.find(key, true); s != nil {
		s.watch(channel)
	}
}

// Unwatch implements [lock.Listener].
func (l *listener) Unwatch(key string) {
	if s, channel := l.find(key, false); s != nil {
		s.unwatch(channel)
	}
}

// find returns the subscription that key belongs to, if it exists or if it may
// be opened now.
func (l *listener) find(key string, open bool) (s *subscription, channel string) {
	channel = l.backend.prefix + key
	client, shard := l.backend.rdb, ""
	if ring := l.backend.ring; ring != nil {
		c, err := ring.GetShardClientForKey(channel)
		if err != nil {
			return nil, channel // A closed Ring: there is nothing to hear.
		}
		client, shard = c, c.Options().Addr
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, channel
	}
	s = l.subs[shard]
	if s == nil && open {
		s = newSubscription(client, l.notify)
		l.subs[shard] = s
	}
	return s, channel
}

// Close implements [lock.Listener]. It waits for a connection that is just
// being made, if the client cannot interrupt that.
func (l *listener) Close() error {
	l.mu.Lock()
	l.closed = true
	subs := l.subs
	l.subs = nil
	l.mu.Unlock()
	for _, s := range subs {
		s.stop()
	}
	for _, s := range subs {
		s.wait()
	}
	return nil
}
