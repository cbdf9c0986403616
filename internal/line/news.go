package line

import "sync"

// Listener is told which keys are waited for; see lock.Listener.
type Listener interface {
	Watch(key string)
	Unwatch(key string)
	Close() error
}

// news is the listener of some Lines, opened when it is first needed.
type news struct {
	lines  *Lines
	listen func(notify func(key string)) Listener

	mu       sync.Mutex
	listener Listener
	closed   bool
}

// watch listens for key, unless nobody wants that any more: who asked for it may
// have been given something meanwhile, and whoever left the line last has done
// its unwatch already.
func (n *news) watch(key string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed || !n.wanted(key) {
		return
	}
	if n.listener == nil {
		n.listener = n.listen(n.hear)
	}
	n.listener.Watch(key)
}

// unwatch stops listening for key, unless somebody has come for it since.
func (n *news) unwatch(key string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listener != nil && !n.wanted(key) {
		n.listener.Unwatch(key)
	}
}

// wanted reports whether somebody in the line of key wants to hear of it.
func (n *news) wanted(key string) bool {
	s := n.lines.Shard(key)
	s.Lock()
	defer s.Unlock()
	ln := s.lines[key]
	return ln != nil && ln.watched
}

// hear wakes the asker of key.
func (n *news) hear(key string) {
	s := n.lines.Shard(key)
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
