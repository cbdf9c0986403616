package locktest_test

import (
	"context"
	"iter"
	"testing"

	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/lock/memlock"
)

// brokenBackend is a mistake, and the law that must find it.
type brokenBackend struct {
	law string
	// name says what the backend does wrong.
	name  string
	build func(t *testing.T, m *memlock.Backend) lock.Backend
}

// brokenBackends returns all of them.
func brokenBackends() []brokenBackend {
	var all []brokenBackend
	for _, some := range [][]brokenBackend{
		brokenOwnership(), brokenExpiry(), brokenRelease(), brokenExtend(),
		brokenCompensation(), brokenFences(), brokenBlocks(), brokenWaiting(),
		brokenInput(), brokenRest(),
	} {
		all = append(all, some...)
	}
	return all
}

// wrong is a sound backend some of whose methods are replaced. A replacement
// gets at the sound ones through m.
type wrong struct {
	*memlock.Backend
	acquire func(context.Context, lock.Request) (lock.Grant, error)
	extend  func(context.Context, lock.Request) (lock.Grant, error)
	release func(context.Context, lock.ReleaseRequest) error
	batch   func(context.Context, []lock.Request) ([]lock.Grant, []error)
	listen  func(func(string)) lock.Listener
	look    func(context.Context, string) (lock.Info, error)
	list    func(context.Context) iter.Seq2[lock.Info, error]
	breaks  func(context.Context, string) error
	raise   func(context.Context, string, string, uint64) error
}

// mistake makes a brokenBackend of a function that replaces methods of w,
// which is sound before.
func mistake(law, name string, replace func(w *wrong, m *memlock.Backend)) brokenBackend {
	return brokenBackend{law: law, name: name, build: func(_ *testing.T, m *memlock.Backend) lock.Backend {
		w := &wrong{
			Backend: m, acquire: m.Acquire, extend: m.Extend, release: m.Release, listen: m.Listen,
			look: m.Look, list: m.List, breaks: m.Break, raise: m.Raise,
		}
		replace(w, m)
		return w
	}}
}

func (w *wrong) Acquire(ctx context.Context, req lock.Request) (lock.Grant, error) {
	return w.acquire(ctx, req)
}

func (w *wrong) Extend(ctx context.Context, req lock.Request) (lock.Grant, error) {
	return w.extend(ctx, req)
}

func (w *wrong) Release(ctx context.Context, req lock.ReleaseRequest) error {
	return w.release(ctx, req)
}

func (w *wrong) ExtendBatch(ctx context.Context, reqs []lock.Request) ([]lock.Grant, []error) {
	if w.batch != nil {
		return w.batch(ctx, reqs)
	}
	grants, errs := make([]lock.Grant, len(reqs)), make([]error, len(reqs))
	for i, req := range reqs {
		grants[i], errs[i] = w.extend(ctx, req)
	}
	return grants, errs
}

func (w *wrong) Listen(notify func(string)) lock.Listener { return w.listen(notify) }

func (w *wrong) Look(ctx context.Context, key string) (lock.Info, error) { return w.look(ctx, key) }

func (w *wrong) List(ctx context.Context) iter.Seq2[lock.Info, error] { return w.list(ctx) }

func (w *wrong) Break(ctx context.Context, key string) error { return w.breaks(ctx, key) }

func (w *wrong) Raise(ctx context.Context, key, nonce string, fence uint64) error {
	return w.raise(ctx, key, nonce, fence)
}

// state looks at a key of m.
func state(m *memlock.Backend, key string) lock.Info {
	info, err := m.Look(context.Background(), key)
	if err != nil {
		return lock.Info{}
	}
	return info
}
