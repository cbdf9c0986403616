package locktest

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/observe"
)

func lockerPanicLaws() []law {
	return []law{{
		name: "LockerObserverPanics",
		why:  "a server recovers from panics and goes on: a caller that is gone must keep neither its place in the queue nor a lease, which would be renewed for as long as the process lives",
		test: func(p *probe) {
			var at atomic.Value // of observe.Kind
			l := p.locker(p.backend, lock.Options{Observer: observe.Func(func(_ context.Context, e observe.Event) {
				if e.Kind == at.Load() {
					panic(errObserver)
				}
			})})
			stranger := p.nonce()
			p.take("key", stranger, long)
			at.Store(observe.Contended)
			p.panics(func() { _, _ = l.Acquire(p.ctx(), "key") }, "Acquire whose observer panics when it is refused")
			p.give("key", stranger)
			at.Store(observe.Acquired)
			p.panics(func() { _, _ = l.Acquire(p.ctx(), "key") }, "Acquire whose observer panics when it is granted")
			at.Store(observe.Kind(""))
			got := await(p, p.acquireSoon(p.ctx(), l, "key"), "a key that nobody has")
			p.must(got.err, "Acquire of a key that nobody has")
			p.released(got.lease)
			p.must(l.Close(p.ctx()), "Close of a Locker whose observer has panicked")
		},
	}}
}

// errObserver is what an observer panics with.
var errObserver = errors.New("the observer has a mistake")

// panics insists that do panics.
func (p *probe) panics(do func(), what string) {
	p.Helper()
	defer func() {
		p.Helper()
		if recover() == nil {
			p.Fatalf("%s did not panic", what)
		}
	}()
	do()
}
