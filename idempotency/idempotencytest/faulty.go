package idempotencytest

import (
	"context"
	"errors"
	"sync"

	"github.com/semel-go/semel/idempotency"
)

// errFault is what a faulty store returns instead of an answer.
var errFault = errors.New("idempotencytest: the store is down")

// method is one of a Store's four.
type method string

const (
	beginning  method = "begin"
	renewing   method = "renew"
	completing method = "complete"
	releasing  method = "release"
)

// fault is what a faulty store does to a call.
type fault int

const (
	// refuses fails before the store has acted.
	refuses fault = iota + 1
	// losesReply fails after the store has acted.
	losesReply
	// hangs does nothing, whatever becomes of the context, until the store is
	// mended. Then it acts, late.
	hangs
	// answersLate acts at once, and answers when the store is mended.
	answersLate
)

// faulty stands between a Guard and its store and does to each call what its
// faults say. It hides all but the four methods of a Store, so that the Guard
// polls, renews claims one by one, and expects a call to ignore its context.
type faulty struct {
	sound idempotency.Store

	mu     sync.Mutex
	faults map[method]fault
	left   map[method]int
	calls  map[method]int
	acts   map[method]int
	mended chan struct{}
}

func (p *probe) faulty() *faulty {
	return &faulty{
		sound: p.store, faults: map[method]fault{}, left: map[method]int{}, calls: map[method]int{}, acts: map[method]int{},
		mended: make(chan struct{}),
	}
}

// fail does how to the next n calls of m.
func (f *faulty) fail(m method, how fault, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults[m], f.left[m] = how, n
}

// always stands for any number of calls.
const always = 1 << 30

// cut cuts the Guard off: no call reaches the store any more.
func (f *faulty) cut() {
	for _, m := range []method{beginning, renewing, completing, releasing} {
		f.fail(m, refuses, always)
	}
}

// mend lets all calls through, those that hang included.
func (f *faulty) mend() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.faults)
	close(f.mended)
	f.mended = make(chan struct{})
}

// seen returns how many calls of m have come so far.
func (f *faulty) seen(m method) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[m]
}

// acted returns how many calls of m the store has answered so far.
func (f *faulty) acted(m method) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.acts[m]
}

// pass does to one call what is due. send sends it to the store.
func (f *faulty) pass(m method, send func() error) error {
	do := func() error {
		err := send()
		f.mu.Lock()
		f.acts[m]++
		f.mu.Unlock()
		return err
	}
	f.mu.Lock()
	f.calls[m]++
	how := f.faults[m]
	if how != 0 {
		if f.left[m]--; f.left[m] <= 0 {
			delete(f.faults, m)
		}
	}
	mended := f.mended
	f.mu.Unlock()
	switch how {
	case refuses:
		return errFault
	case losesReply:
		_ = do()
		return errFault
	case hangs:
		<-mended
		return do()
	case answersLate:
		err := do()
		<-mended
		return err
	}
	return do()
}

// Begin implements [idempotency.Store]. A call that hangs reaches the store as
// a copy in the network does, without its sender's context.
func (f *faulty) Begin(ctx context.Context, r idempotency.BeginRequest) (b idempotency.Begun, err error) {
	err = f.pass(beginning, func() (err error) {
		b, err = f.sound.Begin(context.WithoutCancel(ctx), r)
		return err
	})
	if err != nil {
		return idempotency.Begun{}, err
	}
	return b, nil
}

// Renew implements [idempotency.Store].
func (f *faulty) Renew(ctx context.Context, r idempotency.RenewRequest) error {
	return f.pass(renewing, func() error { return f.sound.Renew(context.WithoutCancel(ctx), r) })
}

// Complete implements [idempotency.Store].
func (f *faulty) Complete(ctx context.Context, r idempotency.CompleteRequest) (late bool, err error) {
	err = f.pass(completing, func() (err error) {
		late, err = f.sound.Complete(context.WithoutCancel(ctx), r)
		return err
	})
	return late && err == nil, err
}

// Release implements [idempotency.Store].
func (f *faulty) Release(ctx context.Context, r idempotency.ReleaseRequest) error {
	return f.pass(releasing, func() error { return f.sound.Release(context.WithoutCancel(ctx), r) })
}
