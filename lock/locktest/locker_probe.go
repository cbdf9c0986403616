package locktest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/observe"
)

// lockerLaws are the laws about a Locker on the backend.
func lockerLaws() []law {
	var all []law
	for _, some := range [][]law{
		lockerExclusionLaws(), lockerWaitingLaws(), lockerFairnessLaws(), lockerTurnLaws(), lockerWindowLaws(),
		lockerReleaseLaws(), lockerDoubtLaws(), lockerJobLaws(), lockerPanicLaws(), lockerCloseLaws(),
	} {
		all = append(all, some...)
	}
	return all
}

// locker returns a Locker on b that is closed at the end of the law. Its
// defaults let nothing but what the law is about end anything: the TTL is long,
// the wait is patient, and a request may take its time.
func (p *probe) locker(b lock.Backend, o lock.Options) *lock.Locker {
	p.Helper()
	if o.TTL == 0 {
		o.TTL = long
	}
	if o.Wait == 0 {
		o.Wait = patience
	}
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Second
	}
	l, err := lock.New(b, o)
	p.must(err, "lock.New")
	p.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if p.Failed() {
			cancel()
		}
		if err := l.Close(ctx); err != nil && !p.Failed() {
			p.Errorf("Close returned %v: the law has left a lease or a request behind", err)
		}
	})
	return l
}

// ttl is the TTL of leases that a law sees renewed or lost.
func (p *probe) ttl() time.Duration { return max(2*time.Second, 2*p.features.MinTTL) }

// leaseOn acquires and insists on it. It is patient with a machine that is too
// slow for the Locker's timeout, after which an ask of its own may hold the key
// until it is undone.
func (p *probe) leaseOn(l *lock.Locker, key string) *lock.Lease {
	p.Helper()
	ctx := p.ctx()
	lease, err := l.Acquire(ctx, key)
	for unanswered := false; err != nil && ctx.Err() == nil; lease, err = l.Acquire(ctx, key) {
		if unanswered = unanswered || errors.Is(err, lock.ErrUnavailable); !unanswered {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	p.must(err, "Acquire of a key that nobody owns")
	return lease
}

// released releases and insists that the lease was still owned. It is patient
// like leaseOn.
func (p *probe) released(lease *lock.Lease) {
	p.Helper()
	ctx := p.ctx()
	err := lease.Release(ctx)
	for errors.Is(err, lock.ErrUnavailable) && ctx.Err() == nil {
		err = lease.Release(ctx)
	}
	p.must(err, "Release")
}

// takenFromAll insists that the store grants the key to nobody.
func (p *probe) takenFromAll(key string) {
	p.Helper()
	p.refused(key, false)
}

// freeForAll insists that the store grants the key to a stranger, and gives it
// back.
func (p *probe) freeForAll(key string) {
	p.Helper()
	a := p.nonce()
	if _, err := p.acquire(key, a, long); err != nil {
		p.Fatalf("a key that nobody should own was refused to a stranger: %v", err)
	}
	p.give(key, a)
}

// acquired is what became of an Acquire on another goroutine.
type acquired struct {
	lease *lock.Lease
	err   error
}

// acquireSoon calls Acquire on another goroutine.
func (p *probe) acquireSoon(ctx context.Context, l *lock.Locker, key string) <-chan acquired {
	done := make(chan acquired, 1)
	go func() {
		lease, err := l.Acquire(ctx, key)
		done <- acquired{lease, err}
	}()
	return done
}

// await returns what comes from done, and insists that it comes.
func await[T any](p *probe, done <-chan T, what string) T {
	p.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case v := <-done:
		return v
	case <-late.C:
		p.Fatalf("%s did not come within %v", what, patience)
		panic("unreachable")
	}
}

// scaled runs an attempt at a law about time, with a key and a TTL to use, and
// again with more time if it failed: a machine may be too slow for two seconds,
// but what is wrong with a backend is so at any scale.
func (p *probe) scaled(attempt func(key string, ttl time.Duration) error) {
	p.Helper()
	var err error
	for i := range 4 {
		if err = attempt(fmt.Sprint("key", i), p.ttl()<<i); err == nil {
			return
		}
	}
	p.Fatal(err)
}

// diary is an Observer that remembers.
type diary struct {
	mu     sync.Mutex
	events []observe.Event
}

// Observe implements [observe.Observer].
func (d *diary) Observe(_ context.Context, e observe.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = append(d.events, e)
}

// of returns the events of one kind.
func (d *diary) of(kind observe.Kind) []observe.Event {
	d.mu.Lock()
	defer d.mu.Unlock()
	var some []observe.Event
	for _, e := range d.events {
		if e.Kind == kind {
			some = append(some, e)
		}
	}
	return some
}

// endsWith waits until ctx has ended and insists on its cause.
func (p *probe) endsWith(ctx context.Context, want error, what string) {
	p.Helper()
	await(p, ctx.Done(), "the end of "+what)
	if cause := context.Cause(ctx); !errors.Is(cause, want) {
		p.Fatalf("%s ended with cause %v, want %v", what, cause, want)
	}
}
