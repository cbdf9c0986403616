// Package notice tells those who listen for a key that something has changed,
// within one process. It does not say what.
package notice

import "sync"

// Board knows who listens for which key. The zero Board is ready to use. It is
// safe for concurrent use.
type Board struct {
	mu    sync.RWMutex
	byKey map[string]map[*Listener]struct{}
}

// Tell lets every Listener for key know that it has changed. It does not wait
// for them.
func (b *Board) Tell(key string) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for l := range b.byKey[key] {
		l.tell(key)
	}
}

// TellBytes is Tell, without an allocation where nobody listens.
func (b *Board) TellBytes(key []byte) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if all := b.byKey[string(key)]; len(all) > 0 {
		name := string(key)
		for l := range all {
			l.tell(name)
		}
	}
}

// Listen returns a Listener that calls notify from a goroutine of its own, which
// its Close ends and waits for. A key that changes several times before notify
// could be called is told once.
func (b *Board) Listen(notify func(key string)) *Listener {
	l := &Listener{
		board:   b,
		notify:  notify,
		watched: map[string]struct{}{},
		pending: map[string]struct{}{},
		wake:    make(chan struct{}, 1),
		stop:    make(chan struct{}),
		done:    make(chan struct{}),
	}
	go l.run()
	return l
}

// Listener listens for the keys that it watches. It is a lock.Listener.
type Listener struct {
	board  *Board
	notify func(string)

	// watched and closed are guarded by the board's mutex.
	watched map[string]struct{}
	closed  bool

	// pending is the keys to tell; wake says that there are some.
	mu      sync.Mutex
	pending map[string]struct{}
	wake    chan struct{}

	stop chan struct{}
	done chan struct{}
}

// Watch adds key to what is listened for, at once, and tells it: it may have
// changed before.
func (l *Listener) Watch(key string) {
	b := l.board
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := l.watched[key]; ok || l.closed {
		return
	}
	l.watched[key] = struct{}{}
	if b.byKey == nil {
		b.byKey = map[string]map[*Listener]struct{}{}
	}
	if b.byKey[key] == nil {
		b.byKey[key] = map[*Listener]struct{}{}
	}
	b.byKey[key][l] = struct{}{}
	l.tell(key)
}

// Unwatch takes key out again.
func (l *Listener) Unwatch(key string) {
	l.board.mu.Lock()
	defer l.board.mu.Unlock()
	l.forget(key)
}

// Close ends the listening. It must not be called from notify. The error is
// always nil.
func (l *Listener) Close() error {
	l.board.mu.Lock()
	if !l.closed {
		l.closed = true
		for key := range l.watched {
			l.forget(key)
		}
		close(l.stop)
	}
	l.board.mu.Unlock()
	<-l.done
	return nil
}

// forget takes key off the board, whose mutex is held.
func (l *Listener) forget(key string) {
	delete(l.watched, key)
	of := l.board.byKey[key]
	delete(of, l)
	if len(of) == 0 {
		delete(l.board.byKey, key)
	}
}

// tell notes that key is to be told and returns.
func (l *Listener) tell(key string) {
	l.mu.Lock()
	l.pending[key] = struct{}{}
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// run calls notify for what is pending until the listener is closed.
func (l *Listener) run() {
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
