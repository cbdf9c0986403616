package idempotencytest

import (
	"sync"
	"time"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/lock"
)

func waitingLaws() []law {
	return []law{{
		name:  "ListenerHearsThatItListens",
		why:   "a run may end before the subscription stands: the waiter asks again when it hears that it does",
		needs: []ability{waiting},
		test: func(p *probe) {
			e := listen(p)
			for _, key := range nastyDigests()[:40] {
				e.watch(key)
			}
		},
	}, {
		name:  "ListenerHearsCompletion",
		why:   "a duplicate that waits is told when the run has completed, so that it replays at once and nobody asks in a loop",
		needs: []ability{waiting},
		test: func(p *probe) {
			e := listen(p)
			for _, key := range nastyDigests()[:40] {
				a := p.nonce()
				b := p.claim(key, a, long)
				p.awaits(key)
				e.watch(key)
				p.finish(key, p.record(a, b, "body"))
				e.hears(key, "when its run completed")
				e.listener.Unwatch(name(key))
			}
		},
	}, {
		name:  "ListenerHearsRelease",
		why:   "who waits is told when the owner gives the key back, in whichever way, so that one takes over at once",
		needs: []ability{waiting},
		test: func(p *probe) {
			e := listen(p)
			for i, how := range []idempotency.ReleaseRequest{{}, {Compensate: true}, {NotBefore: long}, {Unknown: long}} {
				how.Key = p.key(i)
				how.Nonce = p.claimed(how.Key)
				p.awaits(how.Key)
				e.watch(how.Key)
				p.must(p.releaseAs(how), "release by the owner")
				e.hears(how.Key, "when its owner gave it back")
			}
		},
	}, {
		name:  "ResendKeepsWaiters",
		why:   "that somebody waits must not be forgotten when the owner's begin arrives again or its claim is renewed",
		needs: []ability{waiting},
		test: func(p *probe) {
			e, key := listen(p), p.key()
			a := p.claimed(key)
			p.awaits(key)
			e.watch(key)
			p.claim(key, a, long)
			p.must(p.renew(key, a, long), "renew by the owner")
			p.finds(key, idempotency.StateHeld)
			p.give(key, a)
			e.hears(key, "when its owner gave it back")
		},
	}, {
		name:  "ListenersAllHear",
		why:   "each waiting process listens for itself: one that hears must not keep it from another, nor one that stops listening",
		needs: []ability{waiting},
		test: func(p *probe) {
			key, other := p.key(), p.key("other")
			ears := []*ear{listen(p), listen(p), listen(p), listen(p)}
			for _, e := range ears {
				e.watch(key)
				e.listener.Watch(name(key))
				e.watch(other)
			}
			ears[0].listener.Unwatch(name(key))
			ears[1].close()
			for _, k := range []idempotency.Digest{key, other} {
				a := p.claimed(k)
				p.awaits(k)
				for _, e := range ears {
					e.forget(k)
				}
				p.give(k, a)
				ears[2].hears(k, "when its owner gave it back")
				ears[3].hears(k, "when its owner gave it back")
			}
			ears[0].hears(other, "when its owner gave it back")
		},
	}, {
		name:  "ListenerHearsOperator",
		why:   "a key that an operator freed or completed has changed as well",
		needs: []ability{waiting, inspection},
		test: func(p *probe) {
			e, in := listen(p), p.store.(idempotency.Inspector)
			for way, act := range map[string]func(idempotency.Digest, idempotency.Nonce) (bool, error){
				"forgotten": func(k idempotency.Digest, _ idempotency.Nonce) (bool, error) { return in.Forget(p.ctx(), k, long) },
				"completed": func(k idempotency.Digest, _ idempotency.Nonce) (bool, error) {
					r := p.record(p.nonce(), idempotency.Begun{Attempt: 1}, "body")
					return in.ForceComplete(p.ctx(), idempotency.CompleteRequest{Key: k, Record: r, Retention: long})
				},
				"released": func(k idempotency.Digest, a idempotency.Nonce) (bool, error) {
					return in.ReleaseDead(p.ctx(), k, a, long)
				},
			} {
				key := p.key(way)
				a := p.claimed(key)
				p.awaits(key)
				e.watch(key)
				done, err := act(key, a)
				p.must(err, "an operator's act")
				if !done {
					p.Fatalf("a claimed key was not %s", way)
				}
				e.hears(key, "when it was "+way+" by an operator")
			}
		},
	}, {
		name:  "ListenerHearsNotBeforeEnd",
		why:   "who waits until a key may be claimed waits too long if an operator frees it and nobody says so",
		needs: []ability{waiting, inspection},
		test: func(p *probe) {
			e, in, key := listen(p), p.store.(idempotency.Inspector), p.key()
			a := p.claimed(key)
			p.must(p.releaseAs(idempotency.ReleaseRequest{Key: key, Nonce: a, NotBefore: long}), "release with a not-before time")
			_, err := p.store.Begin(p.ctx(), idempotency.BeginRequest{Key: key, Nonce: p.nonce(), Lease: long, Waiting: true})
			p.must(err, "begin by one who waits")
			e.watch(key)
			_, err = in.Forget(p.ctx(), key, long)
			p.must(err, "forget")
			e.hears(key, "when its not-before time was forgotten")
		},
	}, {
		name:  "ClosedListenerIsSilent",
		why:   "a Guard that was closed is not called any more",
		needs: []ability{waiting},
		test: func(p *probe) {
			e, key := listen(p), p.key()
			for i := range 200 {
				e.listener.Watch(name(p.key(i)))
			}
			e.watch(key)
			a := p.claimed(key)
			p.awaits(key)
			e.close()
			p.give(key, a)
			// Long enough for a message that nobody should get to arrive.
			time.Sleep(100 * time.Millisecond)
			e.mu.Lock()
			defer e.mu.Unlock()
			if e.late != "" {
				p.Fatalf("a closed listener was told of the key %x", e.late)
			}
		},
	}}
}

// name is what a Listener calls a key.
func name(key idempotency.Digest) string { return string(key[:]) }

// awaits lets the store know that somebody waits for the key, which another
// has claimed.
func (p *probe) awaits(key idempotency.Digest) {
	p.Helper()
	b, err := p.store.Begin(p.ctx(), idempotency.BeginRequest{Key: key, Nonce: p.nonce(), Lease: long, Waiting: true})
	p.must(err, "begin by one who waits")
	if b.State != idempotency.StateHeld {
		p.Fatalf("begin by one who waits says that the key is %s, want %s", b.State, idempotency.StateHeld)
	}
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
	p.Helper()
	waiter, ok := p.store.(lock.Waiter)
	if !ok {
		p.Fatal("the store's features include waiting, but it is no lock.Waiter")
	}
	e := &ear{p: p, heard: map[string]bool{}, wake: make(chan struct{}, 1)}
	e.listener = waiter.Listen(func(key string) {
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

// watch begins to listen for key and waits until the subscription stands.
func (e *ear) watch(key idempotency.Digest) {
	e.p.Helper()
	e.listener.Watch(name(key))
	e.hears(key, "once it listens")
	e.forget(key)
}

// forget makes e forget that it heard of key.
func (e *ear) forget(key idempotency.Digest) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.heard, name(key))
}

// hears waits until e has heard of key since it last forgot it.
func (e *ear) hears(key idempotency.Digest, when string) {
	e.p.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		e.mu.Lock()
		heard := e.heard[name(key)]
		e.mu.Unlock()
		if heard {
			return
		}
		select {
		case <-e.wake:
		case <-late.C:
			e.p.Fatalf("a listener did not hear of its key within %v %s", patience, when)
		}
	}
}
