package idempotencytest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/lock"
)

// settling is how long a law gives others to begin to wait. Nothing fails if
// that was not enough.
const settling = 100 * time.Millisecond

func guardWaitLaws() []law {
	return []law{{
		name: "GuardWaiterJoins",
		why:  "a duplicate that waits gets the result as soon as there is one, in this process and in others",
		test: func(p *probe) {
			g := p.guard(idempotency.Options{Wait: patience})
			run := p.starts(g, "key", "done", idempotency.RunOptions{})
			waiters := p.waiters(nil, g, p.guard(idempotency.Options{Wait: patience}))
			time.Sleep(settling)
			_, err := run.finish(nil)
			p.must(err, "the run")
			for _, w := range waiters {
				e := await(p, w, "the end of a wait")
				p.must(e.err, "a duplicate that waits for a run that succeeds")
				p.replayed(e.out, value("done"))
			}
		},
	}, {
		name: "GuardWaiterTakesOver",
		why:  "when the run fails one of those that wait runs it, and the others go on waiting for that one",
		test: func(p *probe) {
			g := p.guard(idempotency.Options{Wait: patience})
			run := p.starts(g, "key", "never", idempotency.RunOptions{})
			var runs atomic.Int32
			waiters := p.waiters(&runs, g, p.guard(idempotency.Options{Wait: patience}))
			time.Sleep(settling)
			_, err := run.finish(errRun)
			p.fails(err, errRun, "a run that fails")
			for _, w := range waiters {
				e := await(p, w, "the end of a wait")
				p.must(e.err, "a duplicate that waits for a run that fails")
				if string(e.out.Result.Data) != "taken over" {
					p.Fatalf("a duplicate that waited got %q, want %q", e.out.Result.Data, "taken over")
				}
			}
			if n := runs.Load(); n != 1 {
				p.Fatalf("%d of those that waited ran, want 1", n)
			}
		},
	}, {
		name:  "GuardWaiterOutlivesOwner",
		why:   "an owner that died tells nobody: who waits takes over when its lease is over",
		needs: []ability{passing},
		test: func(p *probe) {
			f := p.faulty()
			run := p.starts(p.guardOn(f, idempotency.Options{Lease: guardLease}), "key", "never", idempotency.RunOptions{})
			f.cut() // dead
			var runs atomic.Int32
			waiters := p.waiters(&runs, p.guard(idempotency.Options{Wait: patience}), p.guard(idempotency.Options{Wait: patience}))
			for _, w := range waiters {
				e := await(p, w, "the end of a wait")
				p.must(e.err, "a duplicate that waits for a dead owner")
			}
			if n := runs.Load(); n != 1 {
				p.Fatalf("%d of those that waited for a dead owner ran, want 1", n)
			}
			_, _ = run.finish(errRun)
		},
	}, {
		name: "GuardWaitEnds",
		why:  "who waits gets an answer when its time is up, or when it leaves: that the first is still running, and in the second case also why it ended",
		test: func(p *probe) {
			run := p.starts(p.guard(idempotency.Options{}), "key", "done", idempotency.RunOptions{})
			g := p.guard(idempotency.Options{})
			_, err := p.duplicate(g, "key", idempotency.RunOptions{Wait: short})
			p.fails(err, idempotency.ErrInProgress, "a duplicate whose wait is over")
			if busy, ok := errors.AsType[*idempotency.InProgressError](err); !ok || busy.RetryAfter <= 0 {
				p.Fatalf("a duplicate whose wait is over got %v, want when to come again", err)
			}
			ctx, cancel := context.WithCancel(p.Context())
			defer cancel()
			w := p.runSoon(ctx, g, "key", idempotency.RunOptions{Wait: patience}, returns("again", nil))
			time.Sleep(settling)
			cancel()
			e := await(p, w, "the end of a wait")
			p.fails(e.err, context.Canceled, "a duplicate that left")
			if e.out.Status != 0 {
				p.Fatalf("a duplicate that left was %s", e.out.Status)
			}
			_, err = run.finish(errRun)
			p.fails(err, errRun, "a run that fails")
			if out := p.runsSoon(g, "key", "done"); out.Attempt != 2 {
				p.Fatalf("the run after one that failed and waits that were abandoned is attempt %d, want 2", out.Attempt)
			}
		},
	}, {
		name: "GuardNoWaitUndoesWait",
		why:  "a caller that cannot wait is refused at once, whatever its Guard's options say",
		test: func(p *probe) {
			g := p.guard(idempotency.Options{Wait: long})
			run := p.starts(g, "key", "done", idempotency.RunOptions{})
			refused := func(g *idempotency.Guard, ro idempotency.RunOptions) {
				p.Helper()
				_, err := p.duplicate(g, "key", ro)
				p.fails(err, idempotency.ErrInProgress, "a duplicate that does not wait")
				if errors.Is(err, context.DeadlineExceeded) {
					p.Fatal("a duplicate that does not wait has waited")
				}
			}
			refused(g, idempotency.RunOptions{Wait: idempotency.NoWait})
			refused(g.With(idempotency.Options{Wait: idempotency.NoWait}), idempotency.RunOptions{})
			_, err := run.finish(nil)
			p.must(err, "the run")
		},
	}, {
		name:  "GuardWaitersAskLittle",
		why:   "a storm of duplicates is the worst moment to storm the store: those that wait in one process ask it as one, and are told when to ask again",
		needs: []ability{waiting},
		test: func(p *probe) {
			run := p.starts(p.guard(idempotency.Options{}), "key", "done", idempotency.RunOptions{})
			f := p.faulty()
			g := p.guardOn(&telling{f, p.store.(lock.Waiter)}, idempotency.Options{Wait: patience})
			var waiters []<-chan ended
			for range 200 {
				waiters = append(waiters, p.runSoon(p.ctx(), g, "key", idempotency.RunOptions{}, returns("again", nil)))
			}
			time.Sleep(time.Second)
			_, err := run.finish(nil)
			p.must(err, "the run")
			for _, w := range waiters {
				e := await(p, w, "the end of a wait")
				p.must(e.err, "a duplicate that waits for a run that succeeds")
				p.replayed(e.out, value("done"))
			}
			if n := f.seen(beginning); n > 20 {
				p.Fatalf("%d duplicates that waited in one process asked the store %d times, want a handful", len(waiters), n)
			}
		},
	}}
}

// telling is a faulty store that tells when a key's run has ended.
type telling struct {
	*faulty
	lock.Waiter
}

// waiters starts some duplicates in each of gs. They count themselves in runs
// when they run, which they must not if it is nil.
func (p *probe) waiters(runs *atomic.Int32, gs ...*idempotency.Guard) (all []<-chan ended) {
	for _, g := range gs {
		for range 4 {
			all = append(all, p.runSoon(p.ctx(), g, "key", idempotency.RunOptions{}, func(context.Context) (idempotency.Result, error) {
				if runs == nil {
					return value("run again"), nil
				}
				runs.Add(1)
				return value("taken over"), nil
			}))
		}
	}
	return all
}
