package lock

import "sync"

// news brings a core the releases of other processes: one listener, opened
// when a key is first found held.
type news struct {
	core     *core
	waiter   Waiter // nil if the backend cannot tell
	mu       sync.Mutex
	listener Listener
	closed   bool
}

func (n *news) init(c *core) {
	n.core = c
	n.waiter, _ = c.backend.(Waiter)
}

// watch begins to listen for key. It reports false if nothing will be heard.
func (n *news) watch(key string) bool {
	if n.waiter == nil {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return false
	}
	if n.listener == nil {
		n.listener = n.waiter.Listen(n.hear)
	}
	n.listener.Watch(key)
	return true
}

// unwatch stops listening for key, unless somebody has come for it since.
func (n *news) unwatch(key string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listener == nil || n.closed {
		return
	}
	s := n.core.lines.shard(key)
	s.Lock()
	ln := s.lines[key]
	wanted := ln != nil && ln.watched
	s.Unlock()
	if !wanted {
		n.listener.Unwatch(key)
	}
}

// hear wakes the asker of key: one per process, however many wait.
func (n *news) hear(key string) {
	s := n.core.lines.shard(key)
	s.Lock()
	defer s.Unlock()
	ln := s.lines[key]
	if ln == nil || !ln.watched {
		return
	}
	ln.heard = true
	if ln.asker != nil {
		ln.asker.signal()
	}
}

func (n *news) close() {
	n.mu.Lock()
	l := n.listener
	n.listener, n.closed = nil, true
	n.mu.Unlock()
	if l != nil {
		_ = l.Close()
	}
}
