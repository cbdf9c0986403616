package idempotencytest

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/observe"
)

func guardPanicLaws() []law {
	return []law{{
		name: "GuardEncodingPanics",
		why:  "a result that cannot even be encoded is that of a run that took effect: the duplicates get no result, and are not run",
		test: func(p *probe) {
			g := p.guard(idempotency.Options{})
			p.panics(func() {
				_, _ = idempotency.Do(p.ctx(), g, named("key"), func(context.Context) (explosive, error) {
					return explosive{}, nil
				})
			}, "a run whose result panics when it is encoded")
			p.duplicateFails(g, "key", idempotency.ErrResultUnavailable)
		},
	}, {
		name: "GuardCompressorPanics",
		why:  "a compressor with a mistake would fail at each redelivery, and each would take effect: the first one is recorded, without its result",
		test: func(p *probe) {
			g := p.guard(idempotency.Options{Compression: idempotency.Compression{Above: 1, With: explosive{}}})
			p.panics(func() {
				_, _ = g.Run(p.ctx(), named("key"), idempotency.RunOptions{}, returns("done", nil))
			}, "a run whose result panics when it is compressed")
			p.duplicateFails(g, "key", idempotency.ErrResultUnavailable)
		},
	}, {
		name: "GuardObserverPanics",
		why:  "a server recovers from panics and goes on: a claim that nobody has any more must not be renewed for as long as the process lives",
		test: func(p *probe) {
			f := p.faulty()
			var at atomic.Value // of observe.Kind
			g := p.guardOn(f, idempotency.Options{Lease: guardLease, Observer: observe.Func(func(_ context.Context, e observe.Event) {
				if e.Kind == at.Load() {
					panic(errRun)
				}
			})})
			at.Store(observe.Acquired)
			p.panics(func() { _, _ = p.duplicate(g, "unrun", idempotency.RunOptions{}) }, "a claim that an observer panics at")
			at.Store(observe.CompleteFailed)
			f.fail(completing, refuses, 1)
			p.panics(func() {
				_, _ = g.Run(p.ctx(), named("run"), idempotency.RunOptions{}, returns("done", nil))
			}, "an outcome that an observer panics at")
			at.Store(observe.Kind(""))
			p.outlast(guardLease + guardLease/2) // a renewal may have been under way
			for _, name := range []string{"unrun", "run"} {
				p.runsSoon(p.guard(idempotency.Options{}), name, "done")
			}
			p.must(g.Close(p.ctx()), "Close of a Guard whose observer has panicked")
		},
	}}
}

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

// explosive is a result and a compressor that panics.
type explosive struct{}

func (explosive) MarshalJSON() ([]byte, error) { panic(errRun) }

func (*explosive) UnmarshalJSON([]byte) error { return nil }

func (explosive) ID() byte { return 255 }

func (explosive) Compress(_, _ []byte) []byte { panic(errRun) }

func (explosive) Decompress(_, _ []byte, _ int) ([]byte, error) {
	return nil, errors.New("nothing was compressed")
}
