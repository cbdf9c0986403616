package lock_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/lock/memlock"
)

var errCut = errors.New("connection cut")

// fault is a memory backend whose requests a test can delay, refuse, or let
// through and then lose the answer of. It ignores contexts, as a client
// library may.
type fault struct {
	inner *memlock.Backend

	mu     sync.Mutex
	before func(op, key string) error
	after  func(op, key string) error
	calls  map[string]int
}

func newFault(t *testing.T) *fault {
	t.Helper()
	inner, err := memlock.New(memlock.Options{})
	require.NoError(t, err)
	return &fault{inner: inner, calls: map[string]int{}}
}

// set makes before and after run around each request; nil does nothing.
func (f *fault) set(before, after func(op, key string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before, f.after = before, after
}

func (f *fault) count(op string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[op]
}

// enter counts the request and runs before; the returned function runs after.
func (f *fault) enter(op, key string) (after func() error, err error) {
	f.mu.Lock()
	f.calls[op]++
	before, then := f.before, f.after
	f.mu.Unlock()
	if before != nil {
		if err := before(op, key); err != nil {
			return nil, err
		}
	}
	return func() error {
		if then == nil {
			return nil
		}
		return then(op, key)
	}, nil
}

func (f *fault) Acquire(_ context.Context, r lock.Request) (lock.Grant, error) {
	after, err := f.enter("acquire", r.Key)
	if err != nil {
		return lock.Grant{}, err
	}
	g, err := f.inner.Acquire(context.Background(), r)
	if cut := after(); cut != nil {
		return lock.Grant{}, cut
	}
	return g, err
}

func (f *fault) Extend(_ context.Context, r lock.Request) (lock.Grant, error) {
	after, err := f.enter("extend", r.Key)
	if err != nil {
		return lock.Grant{}, err
	}
	g, err := f.inner.Extend(context.Background(), r)
	if cut := after(); cut != nil {
		return lock.Grant{}, cut
	}
	return g, err
}

func (f *fault) Release(_ context.Context, r lock.ReleaseRequest) error {
	op := "release"
	if r.Compensate {
		op = "compensate"
	}
	after, err := f.enter(op, r.Key)
	if err != nil {
		return err
	}
	err = f.inner.Release(context.Background(), r)
	if cut := after(); cut != nil {
		return cut
	}
	return err
}

func (f *fault) Listen(notify func(string)) lock.Listener { return f.inner.Listen(notify) }

// on runs f for one op.
func on(want string, f func() error) func(op, key string) error {
	return func(op, _ string) error {
		if op == want {
			return f()
		}
		return nil
	}
}

// once returns err the first time only.
func once(err error) func() error {
	var done bool
	return func() error {
		if done {
			return nil
		}
		done = true
		return err
	}
}

func always(err error) func() error { return func() error { return err } }
