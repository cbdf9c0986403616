package memstore

import (
	"sync"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/lock"
)

// registry knows who listens for which key.
type registry struct {
	mu    sync.RWMutex
	byKey map[string]map[*listener]struct{}
}

// tell lets every listener for key know that its state has changed.
func (r *registry) tell(key idempotency.Digest) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if all := r.byKey[string(key[:])]; len(all) > 0 {
		name := string(key[:])
		for l := range all {
			l.tell(name)
		}
	}
}

// Listen implements [lock.Waiter]; the name of a key is string(digest[:]). The
// Listener calls notify from a goroutine of its own, which its Close ends and
// waits for. A key that changes several times before notify could be called is
// told once.
func (s *Store) Listen(notify func(key string)) lock.Listener {
	l := &listener{
		registry: &s.watch,
		notify:   notify,
		watched:  map[string]struct{}{},
		pending:  map[string]struct{}{},
		wake:     make(chan struct{}, 1),
		stop:     make(chan struct{}),
		done:     make(chan struct{}),
	}
	go l.run()
	return l
}

type listener struct {
	registry *registry
	notify   func(string)

	// watched and closed are guarded by the registry's mutex.
	watched map[string]struct{}
	closed  bool

	// pending is the keys to tell; wake says that there are some.
	mu      sync.Mutex
	pending map[string]struct{}
	wake    chan struct{}

	stop chan struct{}
	done chan struct{}
}

// Watch implements [lock.Listener]. The subscription stands at once.
func (l *listener) Watch(key string) {
	r := l.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := l.watched[key]; ok || l.closed {
		return
	}
	l.watched[key] = struct{}{}
	if r.byKey[key] == nil {
		r.byKey[key] = map[*listener]struct{}{}
	}
	r.byKey[key][l] = struct{}{}
	l.tell(key)
}

// Unwatch implements [lock.Listener].
func (l *listener) Unwatch(key string) {
	l.registry.mu.Lock()
	defer l.registry.mu.Unlock()
	l.forget(key)
}

// Close implements [lock.Listener]. It must not be called from notify.
func (l *listener) Close() error {
	l.registry.mu.Lock()
	if !l.closed {
		l.closed = true
		for key := range l.watched {
			l.forget(key)
		}
		close(l.stop)
	}
	l.registry.mu.Unlock()
	<-l.done
	return nil
}

// forget takes key out of the registry, whose mutex is held.
func (l *listener) forget(key string) {
	delete(l.watched, key)
	of := l.registry.byKey[key]
	delete(of, l)
	if len(of) == 0 {
		delete(l.registry.byKey, key)
	}
}

// tell notes that key is to be told and returns.
func (l *listener) tell(key string) {
	l.mu.Lock()
	l.pending[key] = struct{}{}
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// run calls notify for what is pending until the listener is closed.
func (l *listener) run() {
	defer close(l.done)
	for {
		select {
		case <-l.stop:
			return
		case <-l.wake:
		}
		l.mu.Lock()
		keys := l.pending
		l.pending = map[string]struct{}{}
		l.mu.Unlock()
		for key := range keys {
			select {
			case <-l.stop:
				return
			default:
				l.notify(key)
			}
		}
	}
}
