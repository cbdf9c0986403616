package locktest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/semel-go/semel/lock"
)

// errReplyLost is what a faulty backend returns instead of an answer.
var errReplyLost = errors.New("locktest: the reply was lost")

// method is one of a Backend's three.
type method string

const (
	acquiring method = "acquire"
	extending method = "extend"
	releasing method = "release"
)

// call is one request on its way through a faulty backend.
type call struct {
	method     method
	key, nonce string
	ttl        time.Duration
	compensate bool
	// do sends it and returns what the store says.
	do func(ctx context.Context) error
}

// faulty stands between a Locker and its backend, and does to each call what
// its fault says. It hides all but the three methods of a Backend, so that the
// Locker polls, extends leases one by one, and expects a call to ignore its
// context.
type faulty struct {
	sound lock.Backend

	mu    sync.Mutex
	fault func(ctx context.Context, c call) error
	seen  []call
}

// newFaulty returns a faulty backend that has no fault yet.
func newFaulty(sound lock.Backend) *faulty {
	f := &faulty{sound: sound}
	f.mend()
	return f
}

// fail makes fault decide about each call from now on.
func (f *faulty) fail(fault func(ctx context.Context, c call) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

// failing makes fault decide about each call of one method.
func (f *faulty) failing(m method, fault func(ctx context.Context, c call) error) {
	f.fail(func(ctx context.Context, c call) error {
		if c.method == m {
			return fault(ctx, c)
		}
		return c.do(ctx)
	})
}

// mend lets all calls through.
func (f *faulty) mend() { f.fail(func(ctx context.Context, c call) error { return c.do(ctx) }) }

// calls returns those that have come so far.
func (f *faulty) calls() []call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]call(nil), f.seen...)
}

func (f *faulty) pass(ctx context.Context, c call) error {
	f.mu.Lock()
	f.seen = append(f.seen, c)
	fault := f.fault
	f.mu.Unlock()
	return fault(ctx, c)
}

// Acquire implements [lock.Backend].
func (f *faulty) Acquire(ctx context.Context, req lock.Request) (lock.Grant, error) {
	var g lock.Grant
	err := f.pass(ctx, call{method: acquiring, key: req.Key, nonce: req.Nonce, ttl: req.TTL, do: func(ctx context.Context) (err error) {
		g, err = f.sound.Acquire(ctx, req)
		return err
	}})
	if err != nil {
		return lock.Grant{}, err
	}
	return g, nil
}

// Extend implements [lock.Backend].
func (f *faulty) Extend(ctx context.Context, req lock.Request) (lock.Grant, error) {
	var g lock.Grant
	err := f.pass(ctx, call{method: extending, key: req.Key, nonce: req.Nonce, ttl: req.TTL, do: func(ctx context.Context) (err error) {
		g, err = f.sound.Extend(ctx, req)
		return err
	}})
	if err != nil {
		return lock.Grant{}, err
	}
	return g, nil
}

// Release implements [lock.Backend].
func (f *faulty) Release(ctx context.Context, req lock.ReleaseRequest) error {
	return f.pass(ctx, call{
		method: releasing, key: req.Key, nonce: req.Nonce, ttl: req.TTL, compensate: req.Compensate,
		do: func(ctx context.Context) error { return f.sound.Release(ctx, req) },
	})
}

// Some faults.

// losesReply lets the store act and drops what it says.
func losesReply(ctx context.Context, c call) error {
	_ = c.do(ctx)
	return errReplyLost
}

// losesRequest never lets the store know.
func losesRequest(context.Context, call) error { return errReplyLost }

// hangs never answers, but gives up when its context ends.
func hangs(ctx context.Context, _ call) error {
	<-ctx.Done()
	return ctx.Err()
}

// stuck returns a fault that never answers, whatever becomes of the context,
// and a function that ends it.
func stuck() (fault func(context.Context, call) error, free func()) {
	end := make(chan struct{})
	return func(context.Context, call) error {
		<-end
		return errReplyLost
	}, sync.OnceFunc(func() { close(end) })
}

// answersLate returns a fault that lets the store act at once and answers after
// d.
func answersLate(d time.Duration) func(context.Context, call) error {
	return func(ctx context.Context, c call) error {
		err := c.do(ctx)
		time.Sleep(d)
		return err
	}
}
