package idempotencytest

import (
	"context"
	"errors"
	"time"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/observe"
)

// impatient is the Timeout with which a law sees a call that hangs given up.
const impatient = time.Second

func guardBeginLaws() []law {
	return []law{{
		name: "GuardBeginRefused",
		why:  "a store that is down is told as such, not as somebody else's run, and nothing runs without a claim",
		test: func(p *probe) {
			f := p.faulty()
			g := p.guardOn(f, idempotency.Options{})
			f.cut()
			for range 3 {
				_, err := p.duplicate(g, "key", idempotency.RunOptions{})
				p.unavailable(err)
				p.fails(err, errFault, "a run without a store")
			}
			_, err := p.duplicate(g, "key", idempotency.RunOptions{Wait: short})
			p.unavailable(err)
			f.mend()
			p.runsSoon(g, "key", "done")
		},
	}, {
		name: "GuardBeginReplyLost",
		why:  "a claim whose answer was lost runs nothing; it is undone, so that the redelivery need not wait for its lease to end, and it was no attempt",
		test: func(p *probe) {
			f, d := p.faulty(), &diary{}
			g := p.guardOn(f, idempotency.Options{Observer: d})
			f.fail(beginning, losesReply, 1)
			_, err := p.duplicate(g, "key", idempotency.RunOptions{})
			p.unavailable(err)
			if out := p.runsSoon(p.guard(idempotency.Options{}), "key", "done"); out.Attempt != 1 {
				p.Fatalf("the first run is attempt %d, want 1", out.Attempt)
			}
			p.until("the event of a claim that was undone", func() bool {
				d.mu.Lock()
				defer d.mu.Unlock()
				for _, e := range d.events {
					if e.Kind == observe.Compensated {
						return true
					}
				}
				return false
			})
		},
	}, {
		name: "GuardBeginHangs",
		why:  "a store that does not answer costs the caller its timeout and no more; the claim that arrives afterwards is undone",
		test: func(p *probe) {
			f := p.faulty()
			g := p.guardOn(f, idempotency.Options{Timeout: impatient})
			f.fail(beginning, hangs, 1)
			_, err := p.duplicate(g, "key", idempotency.RunOptions{})
			p.unavailable(err)

			f.fail(beginning, hangs, 1)
			ctx, cancel := context.WithTimeout(p.Context(), short)
			defer cancel()
			e := await(p, p.runSoon(ctx, g, "key", idempotency.RunOptions{}, returns("again", nil)), "the end of a run whose time was up")
			p.unavailable(e.err)
			p.fails(e.err, context.DeadlineExceeded, "a run whose time was up")
			f.mend()
			p.until("the claims that were given up", func() bool { return f.acted(beginning) == 2 })
			p.runsSoon(p.guard(idempotency.Options{}), "key", "done")
		},
	}, {
		name: "GuardBeginAnswersLate",
		why:  "a claim that is granted when its caller has gone is given back: nobody would run until its lease is over",
		test: func(p *probe) {
			f := p.faulty()
			g := p.guardOn(f, idempotency.Options{Timeout: impatient})
			f.fail(beginning, answersLate, 1)
			ctx, cancel := context.WithTimeout(p.Context(), short)
			defer cancel()
			e := await(p, p.runSoon(ctx, g, "key", idempotency.RunOptions{}, returns("again", nil)), "the end of a run whose time was up")
			p.unavailable(e.err)
			if e.out.Status != 0 {
				p.Fatalf("a run whose time was up was %s", e.out.Status)
			}
			f.mend()
			p.runsSoon(p.guard(idempotency.Options{}), "key", "done")
		},
	}, {
		name: "GuardFailsOpenIfAsked",
		why:  "who prefers to run twice over not at all can say so, and is told when it happens; what is known to run or to have run is not run again for that",
		test: func(p *probe) {
			f, d := p.faulty(), &diary{}
			g := p.guardOn(f, idempotency.Options{FailOpen: true, Observer: d})
			f.cut()
			out, err := g.Run(p.ctx(), named("key"), idempotency.RunOptions{}, returns("unguarded", nil))
			p.must(err, "a run that fails open")
			if out.Status != idempotency.Executed || out.Recorded || string(out.Result.Data) != "unguarded" {
				p.Fatalf("a run that failed open ended as %s with %q, recorded: %t", out.Status, out.Result.Data, out.Recorded)
			}
			p.tells(d, observe.RunUnguarded)
			f.mend()
			run := p.starts(p.guard(idempotency.Options{}), "key", "done", idempotency.RunOptions{})
			p.duplicateFails(g, "key", idempotency.ErrInProgress)
			_, err = run.finish(nil)
			p.must(err, "the run")
			p.replays(g, "key", "done")
		},
	}, {
		name: "GuardFailsOpenWithoutClaim",
		why:  "what runs without a claim must not find that of the run it is a part of: it would decide what becomes of that one",
		test: func(p *probe) {
			f := p.faulty()
			g, open := p.guard(idempotency.Options{}), p.guardOn(f, idempotency.Options{FailOpen: true})
			f.cut()
			_, err := g.Run(p.ctx(), named("outer"), idempotency.RunOptions{}, func(ctx context.Context) (idempotency.Result, error) {
				_, err := open.Run(ctx, named("inner"), idempotency.RunOptions{}, func(ctx context.Context) (idempotency.Result, error) {
					if claim, ok := idempotency.ClaimFrom(ctx); ok {
						claim.Release()
					}
					_, err := g.Run(ctx, named("outer"), idempotency.RunOptions{}, returns("again", nil))
					p.fails(err, idempotency.ErrReentrant, "a run that asks for its own key by way of one that failed open")
					return value("inner"), nil
				})
				return value("outer"), err
			})
			p.must(err, "a run with a part that failed open")
			p.replays(g, "outer", "outer")
		},
	}}
}

func guardCompleteLaws() []law {
	// succeeds insists that the first caller is none the worse.
	succeeds := func(p *probe, g *idempotency.Guard, ctx context.Context) idempotency.Outcome {
		p.Helper()
		e := await(p, p.runSoon(ctx, g, "key", idempotency.RunOptions{}, returns("done", nil)), "the end of a run")
		p.must(e.err, "a run that succeeded and could not be recorded at once")
		if e.out.Status != idempotency.Executed || string(e.out.Result.Data) != "done" {
			p.Fatalf("a run that succeeded ended as %s with %q", e.out.Status, e.out.Result.Data)
		}
		return e.out
	}
	return []law{{
		name: "GuardCompleteRefused",
		why:  "a store that fails when the run has succeeded must not turn that into a failure, nor free the key: the outcome is recorded when the store is back",
		test: func(p *probe) {
			f, d := p.faulty(), &diary{}
			g := p.guardOn(f, idempotency.Options{Observer: d})
			f.fail(completing, refuses, 3)
			if out := succeeds(p, g, p.ctx()); out.Recorded {
				p.Fatal("an outcome that the store refused is said to be recorded")
			}
			p.tells(d, observe.CompleteFailed)
			p.replaysSoon(p.guard(idempotency.Options{}), "key", "done")
		},
	}, {
		name: "GuardCompleteReplyLost",
		why:  "a completion whose reply was lost is sent again and recognised: the first one stands",
		test: func(p *probe) {
			f := p.faulty()
			g := p.guardOn(f, idempotency.Options{})
			f.fail(completing, losesReply, 2)
			first := succeeds(p, g, p.ctx())
			out := p.replays(p.guard(idempotency.Options{}), "key", "done")
			if out.Fence != first.Fence {
				p.Fatalf("a replay has the fence %d, the run had %d", out.Fence, first.Fence)
			}
			p.until("the second completion", func() bool { return f.seen(completing) >= 3 })
			p.replays(g, "key", "done")
		},
	}, {
		name: "GuardCompleteHangs",
		why:  "a store that does not take the outcome delays the first caller by its timeout and no more, also if the caller has gone meanwhile",
		test: func(p *probe) {
			f := p.faulty()
			g := p.guardOn(f, idempotency.Options{Timeout: impatient})
			f.fail(completing, hangs, 2)
			succeeds(p, g, p.ctx())
			p.duplicateFails(p.guard(idempotency.Options{}), "key", idempotency.ErrInProgress)
			f.mend()
			p.replaysSoon(p.guard(idempotency.Options{}), "key", "done")
		},
	}, {
		name: "GuardCloseRecords",
		why:  "a process that is shut down records the outcomes it still owes",
		test: func(p *probe) {
			f := p.faulty()
			g := p.guardOn(f, idempotency.Options{})
			f.fail(completing, refuses, 3)
			if out := succeeds(p, g, p.ctx()); out.Recorded {
				p.Fatal("an outcome that the store refused is said to be recorded")
			}
			p.must(g.Close(p.ctx()), "Close")
			p.replays(p.guard(idempotency.Options{}), "key", "done")
		},
	}}
}

func guardReleaseLaws() []law {
	return []law{{
		name: "GuardReleaseRefused",
		why:  "a failed run whose key cannot be freed still fails with its own error, and its key is free when the lease is over",
		test: func(p *probe) {
			f, d := p.faulty(), &diary{}
			g := p.guardOn(f, idempotency.Options{Lease: guardLease, Observer: d})
			f.fail(releasing, refuses, always)
			_, err := g.Run(p.ctx(), named("key"), idempotency.RunOptions{}, returns("x", errRun))
			if err != errRun {
				p.Fatalf("a run that failed, and whose key could not be freed, ended in %v, want its own error", err)
			}
			p.tells(d, observe.ReleaseFailed)
			p.outlast(guardLease)
			p.executes(p.guard(idempotency.Options{}), "key", "done")
		},
	}, {
		name: "GuardReleaseReplyLost",
		why:  "a release whose reply was lost has freed the key",
		test: func(p *probe) {
			f := p.faulty()
			g := p.guardOn(f, idempotency.Options{})
			f.fail(releasing, losesReply, 1)
			_, err := g.Run(p.ctx(), named("key"), idempotency.RunOptions{}, returns("x", errRun))
			p.fails(err, errRun, "a run that fails")
			p.executes(p.guard(idempotency.Options{}), "key", "done")
		},
	}, {
		name: "GuardReleaseHangs",
		why:  "a store that does not answer a release delays the caller by its timeout and no more",
		test: func(p *probe) {
			f := p.faulty()
			g := p.guardOn(f, idempotency.Options{Timeout: impatient})
			f.fail(releasing, hangs, 1)
			e := await(p, p.runSoon(p.ctx(), g, "key", idempotency.RunOptions{}, returns("x", errRun)), "the end of a run that fails")
			p.fails(e.err, errRun, "a run that fails")
			f.mend()
			p.runsSoon(p.guard(idempotency.Options{}), "key", "done")
		},
	}, {
		name: "GuardUnknownIsInsistedOn",
		why:  "that an outcome is unknown must not be lost with one reply: the key would be free, and the effect might happen twice",
		test: func(p *probe) {
			f := p.faulty()
			g := p.guardOn(f, idempotency.Options{})
			for name, how := range map[string]fault{"refused": refuses, "lost": losesReply} {
				f.fail(releasing, how, 3)
				_, err := g.Run(p.ctx(), named(name), idempotency.RunOptions{}, returns("x", idempotency.Unknown(errRun)))
				p.fails(err, errRun, "a run whose outcome is unknown")
				other := p.guard(idempotency.Options{})
				p.until("an outcome that is held unknown", func() bool {
					_, err := p.duplicate(other, name, idempotency.RunOptions{})
					if !errors.Is(err, idempotency.ErrInProgress) {
						p.fails(err, idempotency.ErrOutcomeUnknown, "a duplicate of a run whose outcome is unknown")
						return true
					}
					return false
				})
				p.duplicateFails(other, name, idempotency.ErrOutcomeUnknown)
			}
		},
	}}
}
