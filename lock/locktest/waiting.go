package locktest

import (
	"fmt"
	"sync"
	"time"

	"github.com/semel-go/semel/lock"
)

func waitingLaws() []law {
	return []law{{
		name: "OwnerLearnsOfWaiters",
		why:  "an owner that hands the key on inside its process must learn that another process waits, or that one starves",
		test: func(p *probe) {
			a := p.nonce()
			p.take("key", a, long)
			extend := func(want bool, when string) {
				p.Helper()
				g, err := p.extend("key", a, long)
				p.must(err, "extend by the owner")
				if g.Waiters != want {
					p.Fatalf("extend said waiters=%t %s, want %t", g.Waiters, when, want)
				}
			}
			extend(false, "before anybody came")
			p.refused("key", false)
			extend(false, "when somebody asked who does not wait")
			p.refused("key", true)
			extend(true, "when somebody waits")
			p.refused("key", false)
			extend(true, "when somebody waits and another asked")
			p.take("key", a, long)
			extend(true, "after a copy of the acquire arrived")
			g, err := p.backend.Extend(p.ctx(), lock.Request{Key: "key", Nonce: a, TTL: long, Block: 2})
			p.must(err, "extend with a block by the owner")
			if !g.Waiters {
				p.Fatal("extend with a block did not say that somebody waits")
			}
		},
	}, {
		name:  "ListenerHearsThatItListens",
		why:   "a key may become free before the subscription stands: the waiter asks again when it hears that it does",
		needs: []ability{waiting},
		test: func(p *probe) {
			e := listen(p)
			for _, key := range nastyKeys() {
				e.listener.Watch(key)
				e.hears(key, "once it listens")
			}
		},
	}, {
		name:  "ListenerHearsRelease",
		why:   "who waits is told when the key is given back, so that nobody has to ask in a loop",
		needs: []ability{waiting},
		test: func(p *probe) {
			e := listen(p)
			for _, key := range nastyKeys() {
				for _, way := range []func(key, nonce string) error{p.release, p.compensate} {
					a := p.nonce()
					p.take(key, a, long)
					p.refused(key, true)
					e.listener.Watch(key)
					e.hears(key, "once it listens")
					e.forget(key)
					p.must(way(key, a), "release by the owner")
					e.hears(key, "when its owner gave it back")
					e.listener.Unwatch(key)
				}
			}
		},
	}, {
		name:  "ListenersAllHear",
		why:   "each waiting process listens for itself: one that hears must not keep it from another, nor one that stops listening",
		needs: []ability{waiting},
		test: func(p *probe) {
			ears := []*ear{listen(p), listen(p), listen(p), listen(p)}
			for _, e := range ears {
				e.listener.Watch("key")
				e.listener.Watch("key")
				e.hears("key", "once it listens")
			}
			ears[0].listener.Unwatch("key")
			ears[1].close()
			a := p.nonce()
			p.take("key", a, long)
			p.refused("key", true)
			for _, e := range ears {
				e.forget("key")
			}
			p.give("key", a)
			ears[2].hears("key", "when its owner gave it back")
			ears[3].hears("key", "when its owner gave it back")
		},
	}, {
		name:  "ListenerHearsBreak",
		why:   "a key that an operator took from its owner is free as well",
		needs: []ability{waiting, inspection},
		test: func(p *probe) {
			e := listen(p)
			p.take("key", p.nonce(), long)
			p.refused("key", true)
			e.listener.Watch("key")
			e.hears("key", "once it listens")
			e.forget("key")
			p.must(p.backend.(lock.Inspector).Break(p.ctx(), "key"), "break")
			e.hears("key", "when it was broken")
		},
	}, {
		name:  "ClosedListenerIsSilent",
		why:   "a Locker that was closed is not called any more",
		needs: []ability{waiting},
		test: func(p *probe) {
			e := listen(p)
			for i := range 200 {
				e.listener.Watch(fmt.Sprint("key", i))
			}
			e.listener.Watch("key")
			e.hears("key", "once it listens")
			a := p.nonce()
			p.take("key", a, long)
			p.refused("key", true)
			e.close()
			p.give("key", a)
			// Long enough for a message that nobody should get to arrive.
			time.Sleep(100 * time.Millisecond)
			e.mu.Lock()
			defer e.mu.Unlock()
			if e.late != "" {
				p.Fatalf("a closed listener was told of the key %q", e.late)
			}
		},
	}}
}

// ear is a listener and what it has heard.
type ear struct {
	p        *probe
	listener lock.Listener

	mu     sync.Mutex
	heard  map[string]bool
	wake   chan struct{}
	closed bool
	// late is a key that was told after the listener was closed.
	late string
}

func listen(p *probe) *ear {
	e := &ear{p: p, heard: map[string]bool{}, wake: make(chan struct{}, 1)}
	e.listener = p.backend.(lock.Waiter).Listen(func(key string) {
		e.mu.Lock()
		e.heard[key] = true
		if e.closed {
			e.late = key
		}
		e.mu.Unlock()
		select {
		case e.wake <- struct{}{}:
		default:
		}
	})
	p.Cleanup(e.close)
	return e
}

// close closes the listener, once.
func (e *ear) close() {
	e.p.Helper()
	e.mu.Lock()
	closed := e.closed
	e.mu.Unlock()
	if closed {
		return
	}
	e.p.must(e.listener.Close(), "close")
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
}

// forget makes e forget that it heard of key.
func (e *ear) forget(key string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.heard, key)
}

// hears waits until e has heard of key since it last forgot it.
func (e *ear) hears(key, when string) {
	e.p.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		e.mu.Lock()
		heard := e.heard[key]
		e.mu.Unlock()
		if heard {
			return
		}
		select {
		case <-e.wake:
		case <-late.C:
			e.p.Fatalf("a listener did not hear of its key %.40q within %v %s", key, patience, when)
		}
	}
}
