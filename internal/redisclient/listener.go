package redisclient

import "sync"

// Listen returns a Listener that calls notify with each watched channel on which
// something was published, and each time that it begins, or begins anew, to hear
// a channel: what was said before went unheard. Where the server does not allow
// subscriptions nothing is ever told.
//
// notify must not block, and must not call Close. It may be called from any
// goroutine, also for channels no longer watched, and without need.
func (r *Redis) Listen(notify func(channel string)) *Listener {
	return &Listener{redis: r, notify: notify, subs: map[string]*subscription{}}
}

// Listener listens to channels, each on the server that has the Redis key of the
// same name. Its connection is opened by the first Watch and stays until Close,
// also while nothing is watched. A connection that says nothing for some
// seconds, although it is asked, is given up for a new one. All methods are safe
// for concurrent use, and only Close waits.
type Listener struct {
	redis  *Redis
	notify func(channel string)

	mu     sync.Mutex
	closed bool
	// By shard, "" if there are none: the shards of a Ring do not hear each
	// other, while the nodes of a Cluster pass on what is published.
	subs map[string]*subscription
}

// Watch begins to listen to a channel. Watching it twice is watching it once.
func (l *Listener) Watch(channel string) {
	if s := l.find(channel, true); s != nil {
		s.watch(channel)
	}
}

// Unwatch stops listening to a channel.
func (l *Listener) Unwatch(channel string) {
	if s := l.find(channel, false); s != nil {
		s.unwatch(channel)
	}
}

// find returns the subscription that channel belongs to, if it exists or if it
// may be opened now.
func (l *Listener) find(channel string, open bool) *subscription {
	client, shard := l.redis.rdb, ""
	if ring := l.redis.ring; ring != nil {
		c, err := ring.GetShardClientForKey(channel)
		if err != nil {
			return nil // A closed Ring: there is nothing to hear.
		}
		client, shard = c, c.Options().Addr
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	s := l.subs[shard]
	if s == nil && open {
		s = newSubscription(client, l.notify)
		l.subs[shard] = s
	}
	return s
}

// Close ends all subscriptions and waits for their goroutines, and for a
// connection that is just being made, if the client cannot interrupt that.
// notify is not called after it returned.
func (l *Listener) Close() error {
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
