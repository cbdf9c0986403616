package idempotencytest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/semel-go/semel/idempotency"
)

func guardEndingLaws() []law {
	return []law{{
		name: "GuardFinalIsReplayed",
		why:  "a run that will never succeed is over: its duplicates get the same error, and are not run",
		test: func(p *probe) {
			g := p.guard(idempotency.Options{})
			wrapped := fmt.Errorf("wrapped: %w", idempotency.Final(errRun))
			out, err := g.Run(p.ctx(), named("key"), idempotency.RunOptions{}, returns("x", wrapped))
			if err != wrapped || !out.Recorded {
				p.Fatalf("a run that failed for good ended in %v, recorded: %t; want its own error, recorded", err, out.Recorded)
			}
			for range 2 {
				out, err = p.duplicate(g, "key", idempotency.RunOptions{})
				final, ok := errors.AsType[*idempotency.FinalError](err)
				if !ok || final.Error() != wrapped.Error() {
					p.Fatalf("a duplicate of a run that failed for good got %v, want a *idempotency.FinalError %q", err, wrapped)
				}
				if out.Status != idempotency.Replayed {
					p.Fatalf("a duplicate of a run that failed for good was %s", out.Status)
				}
			}
		},
	}, {
		name: "GuardUnknownHolds",
		why:  "when nobody knows whether the effect has happened, nobody runs it until somebody has found out; and nobody waits for that",
		test: func(p *probe) {
			g := p.guard(idempotency.Options{Wait: patience, UnknownFor: long})
			unknown := func(name string, ro idempotency.RunOptions) {
				p.Helper()
				out, err := g.Run(p.ctx(), named(name), ro, returns("x", idempotency.Unknown(errRun)))
				p.fails(err, errRun, "a run whose outcome is unknown")
				if out.Recorded {
					p.Fatal("an unknown outcome is said to be recorded")
				}
			}
			start := time.Now()
			unknown("key", idempotency.RunOptions{})
			asked := time.Now()
			e, ok := errors.AsType[*idempotency.UnknownError](p.duplicateFails(g, "key", idempotency.ErrOutcomeUnknown))
			if !ok {
				p.Fatal("a duplicate of a run whose outcome is unknown got no *idempotency.UnknownError")
			}
			if time.Since(asked) > patience/2 {
				p.Fatal("a duplicate waited for an unknown outcome")
			}
			p.remains(e.Until.Sub(start), long+time.Since(start), "an unknown outcome")
			unknown("short", idempotency.RunOptions{UnknownFor: short})
			p.outlast(short)
			p.executes(g, "short", "done")
			p.duplicateFails(g, "key", idempotency.ErrOutcomeUnknown)
		},
	}, {
		name: "GuardRetryAfterHolds",
		why:  "a run that says when to come again is not run before, and its duplicates are told when",
		test: func(p *probe) {
			g := p.guard(idempotency.Options{})
			later := func(name string, d time.Duration) {
				p.Helper()
				_, err := g.Run(p.ctx(), named(name), idempotency.RunOptions{}, returns("x", idempotency.RetryAfter(d, errRun)))
				p.fails(err, errRun, "a run that says when to come again")
				if told, ok := idempotency.RetryDelay(err); !ok || told != d {
					p.Fatalf("the error of a run that says to come again in %v tells %v, %t", d, told, ok)
				}
			}
			later("key", long)
			busy, ok := errors.AsType[*idempotency.InProgressError](p.duplicateFails(g, "key", idempotency.ErrInProgress))
			if !ok {
				p.Fatal("a duplicate that comes too early got no *idempotency.InProgressError")
			}
			p.remains(busy.RetryAfter, long, "a not-before time")
			later("short", short)
			p.outlast(short)
			if out := p.executes(g, "short", "done"); out.Attempt != 2 {
				p.Fatalf("the run after one that said when to come again is attempt %d, want 2", out.Attempt)
			}
			p.duplicateFails(g, "key", idempotency.ErrInProgress)
		},
	}, {
		name: "GuardIsSteered",
		why:  "a handler that answers by other means than its error says through its claim what becomes of the key, and that is what happens, whatever it returns",
		test: guardIsSteered,
	}}
}

func guardIsSteered(p *probe) {
	g := p.guard(idempotency.Options{})
	final := func(text string) func(name string) {
		return func(name string) {
			_, err := p.duplicate(g, name, idempotency.RunOptions{})
			if f, ok := errors.AsType[*idempotency.FinalError](err); !ok || f.Error() != text {
				p.Fatalf("a duplicate of the run that %s got %v, want a *idempotency.FinalError %q", name, err, text)
			}
		}
	}
	fails := func(want error) func(string) { return func(name string) { p.duplicateFails(g, name, want) } }
	runs := func(name string) { p.executes(g, name, "done") }
	replays := func(name string) { p.replays(g, name, "result") }
	for _, c := range []struct {
		name  string
		steer func(*idempotency.Claim)
		err   error
		then  func(name string)
	}{
		{"releases, and succeeds", func(c *idempotency.Claim) { c.Release() }, nil, runs},
		{"releases, and fails for good", func(c *idempotency.Claim) { c.Release() }, idempotency.Final(errRun), runs},
		{"keeps, and succeeds", func(c *idempotency.Claim) { c.Keep() }, nil, replays},
		{"keeps, and fails", func(c *idempotency.Claim) { c.Keep() }, errRun, final(errRun.Error())},
		{"keeps, and panics", func(c *idempotency.Claim) { c.Keep(); panic(errRun) }, nil, fails(idempotency.ErrResultUnavailable)},
		{"is unknown, and succeeds", func(c *idempotency.Claim) { c.Unknown() }, nil, fails(idempotency.ErrOutcomeUnknown)},
		{"is unknown, and panics", func(c *idempotency.Claim) { c.Unknown(); panic(errRun) }, nil, fails(idempotency.ErrOutcomeUnknown)},
		{"is permanent, and succeeds", func(c *idempotency.Claim) { c.Permanent(errors.New("no")) }, nil, final("no")},
		{"is permanent, and fails", func(c *idempotency.Claim) { c.Permanent(errors.New("no")) }, errRun, final("no")},
		{"changes its mind", func(c *idempotency.Claim) { c.Unknown(); c.Keep(); c.Release() }, nil, runs},
		{"changes its mind back", func(c *idempotency.Claim) { c.Release(); c.Keep() }, nil, replays},
	} {
		func() {
			defer func() { _ = recover() }()
			out, err := g.Run(p.ctx(), named(c.name), idempotency.RunOptions{}, func(ctx context.Context) (idempotency.Result, error) {
				claim, _ := idempotency.ClaimFrom(ctx)
				c.steer(claim)
				return value("result"), c.err
			})
			if err != c.err || string(out.Result.Data) != "result" {
				p.Fatalf("the run that %s ended with %q, %v; want %q, %v", c.name, out.Result.Data, err, "result", c.err)
			}
		}()
		c.then(c.name)
	}
}
