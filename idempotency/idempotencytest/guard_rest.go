package idempotencytest

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/semel-go/semel/idempotency"
)

func guardRestLaws() []law {
	return []law{{
		name:  "GuardForgetRunsAgain",
		why:   "an operator who forgets a record wants the event to run again: so it does, also where the record was kept in memory",
		needs: []ability{inspection},
		test: func(p *probe) {
			g := p.guard(idempotency.Options{Cache: idempotency.LocalCache{Bytes: 1 << 20, TTL: time.Minute}})
			first := p.executes(g, "key", "first")
			p.replays(g, "key", "first")
			p.guardForgets(g, "key")
			if out := p.executes(g, "key", "second"); out.Fence <= first.Fence {
				p.Fatalf("a run after a Forget has the fence %d, the one before had %d", out.Fence, first.Fence)
			}
			p.replays(g, "key", "second")
		},
	}, {
		name:  "GuardForgetEndsNotBefore",
		why:   "an operator who frees a key that may not be run yet wants it to run now: who waits for that time learns it",
		needs: []ability{inspection},
		test: func(p *probe) {
			g := p.guard(idempotency.Options{})
			_, err := g.Run(p.ctx(), named("key"), idempotency.RunOptions{}, returns("x", idempotency.RetryAfter(long, errRun)))
			p.fails(err, errRun, "a run that says when to come again")
			done := p.runSoon(p.ctx(), g, "key", idempotency.RunOptions{Wait: long}, returns("done", nil))
			time.Sleep(settling) // most often it waits by now
			p.guardForgets(p.guard(idempotency.Options{}), "key")
			p.must(await(p, done, "a run whose key was freed").err, "a run whose key was freed")
		},
	}, {
		name:  "GuardForgottenCannotComplete",
		why:   "a run that was under way when its key was forgotten must not complete what another runs now",
		needs: []ability{inspection},
		test: func(p *probe) {
			g := p.guard(idempotency.Options{})
			run := p.starts(g, "key", "forgotten", idempotency.RunOptions{})
			p.guardForgets(g, "key")
			p.executes(p.guard(idempotency.Options{}), "key", "the one after")
			out, err := run.finish(nil)
			p.must(err, "a run that was forgotten")
			if out.Recorded || string(out.Result.Data) != "forgotten" {
				p.Fatalf("a run that was forgotten ended with %q, recorded: %t", out.Result.Data, out.Recorded)
			}
			p.replays(g, "key", "the one after")
		},
	}, {
		name:  "GuardForceCompleteIsReplayed",
		why:   "an outcome that an operator found out is replayed like any other",
		needs: []ability{inspection},
		test: func(p *probe) {
			for name, o := range map[string]idempotency.Options{
				"plain": {},
				"encrypted": {Encryption: idempotency.Encryption{
					Current: "k1", Keys: map[string][]byte{"k1": bytes.Repeat([]byte{7}, 32)},
				}},
			} {
				g := p.guard(o)
				_, err := g.Run(p.ctx(), named(name), idempotency.RunOptions{}, returns("x", idempotency.Unknown(errRun)))
				p.fails(err, errRun, "a run whose outcome is unknown")
				operator, err := g.Operator()
				p.must(err, "Operator")
				done, err := operator.ForceComplete(p.ctx(), p.digest(name), value("found out"))
				p.must(err, "ForceComplete")
				if !done {
					p.Fatal("ForceComplete of an unknown outcome says that it did nothing")
				}
				p.replays(g, name, "found out")
			}
		},
	}, {
		name:  "GuardBinds",
		why:   "an id goes with what it came with first; when that is not known the caller learns just that",
		needs: []ability{binding},
		test: func(p *probe) {
			g := p.guard(idempotency.Options{})
			if !g.CanBind() {
				p.Fatal("a Guard on a store that binds says that it cannot")
			}
			for i, c := range []struct {
				value idempotency.Fingerprint
				want  bool
			}{{p.print(1), true}, {p.print(1), true}, {p.print(2), false}, {p.print(1), true}} {
				same, err := g.Bind(p.ctx(), named("id"), c.value, long)
				p.must(err, "Bind")
				if same != c.want {
					p.Fatalf("Bind number %d says same=%t, want %t", i, same, c.want)
				}
			}
			p.executes(g, "id", "the key of the same name")
			_, err := g.Bind(p.ctx(), named("id"), p.print(1), 0)
			p.fails(err, idempotency.ErrInvalid, "Bind without a time")
			_, err = g.Bind(p.ctx(), idempotency.Key{}, p.print(1), long)
			p.fails(err, idempotency.ErrInvalid, "Bind of an empty id")
		},
	}, {
		name: "GuardCloseWaits",
		why:  "a Guard that is closed lets what runs come to its end and takes on nothing new; who cannot wait that long is told, and the runs learn it",
		test: func(p *probe) {
			g := p.guard(idempotency.Options{})
			run := p.starts(g, "key", "done", idempotency.RunOptions{})
			closed := make(chan error, 1)
			ctx := p.ctx()
			go func() { closed <- g.Close(ctx) }()
			p.until("the beginning of a Close", func() bool {
				_, err := g.Run(p.ctx(), named("before"), idempotency.RunOptions{}, returns("x", nil))
				return errors.Is(err, idempotency.ErrClosed)
			})
			p.duplicateFails(g, "other", idempotency.ErrClosed)
			select {
			case err := <-closed:
				p.Fatalf("Close returned %v while a run was under way", err)
			case <-time.After(settling):
			}
			out, err := run.finish(nil)
			p.must(err, "a run under way when its Guard was closed")
			if !out.Recorded {
				p.Fatal("a run under way when its Guard was closed was not recorded")
			}
			p.must(await(p, closed, "the end of Close"), "Close")
			p.must(g.Close(p.ctx()), "a second Close")
			p.untouched(p.digest("other"))
			p.replays(p.guard(idempotency.Options{}), "key", "done")
		},
	}, {
		name: "GuardCloseWaitsForLost",
		why:  "a run that lost its claim when the store was away may take effect all the same: a Guard that is closed waits for it, so that its outcome is recorded",
		test: func(p *probe) {
			f := p.faulty()
			g := p.guardOn(f, idempotency.Options{Lease: guardLease})
			run := p.starts(g, "key", "done", idempotency.RunOptions{})
			f.cut()
			await(p, run.ctx.Done(), "the end of the context of a run that is cut off")
			f.mend()
			closed := make(chan error, 1)
			ctx := p.ctx()
			go func() { closed <- g.Close(ctx) }()
			select {
			case err := <-closed:
				p.Fatalf("Close returned %v while a run was under way that had lost its claim", err)
			case <-time.After(settling):
			}
			out, err := run.finish(nil)
			p.must(err, "a run that lost its claim and succeeded")
			if !out.Recorded {
				p.Fatal("a run that lost its claim, and whom nobody followed, was not recorded")
			}
			p.must(await(p, closed, "the end of Close"), "Close")
		},
	}, {
		name: "GuardCloseGivesUp",
		why:  "who must be gone before its runs are done tells them so",
		test: func(p *probe) {
			g := p.guard(idempotency.Options{Lease: guardLease})
			run := p.starts(g, "key", "done", idempotency.RunOptions{})
			ctx, cancel := context.WithTimeout(p.Context(), short)
			defer cancel()
			p.fails(g.Close(ctx), context.DeadlineExceeded, "Close that could not wait")
			await(p, run.ctx.Done(), "the end of the context of a run whose Guard has gone")
			p.fails(context.Cause(run.ctx), idempotency.ErrClosed, "the context of a run whose Guard has gone")
			out, err := run.finish(nil)
			p.must(err, "a run whose Guard has gone")
			if string(out.Result.Data) != "done" {
				p.Fatalf("a run whose Guard has gone ended with %q, want its own result", out.Result.Data)
			}
		},
	}}
}

// guardForgets forgets a key through g's operator.
func (p *probe) guardForgets(g *idempotency.Guard, name string) {
	p.Helper()
	operator, err := g.Operator()
	p.must(err, "Operator")
	found, _, err := operator.Forget(p.ctx(), p.digest(name))
	p.must(err, "Forget")
	if !found {
		p.Fatal("Forget says that there was nothing")
	}
}
