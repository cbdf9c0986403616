package idempotencytest

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/semel-go/semel/idempotency"
)

func guardRefusalLaws() []law {
	return []law{{
		name: "GuardInProgress",
		why:  "a duplicate of a run under way is refused with the time after which to come again, and is not run",
		test: func(p *probe) {
			run := p.starts(p.guard(idempotency.Options{Lease: time.Minute}), "key", "done", idempotency.RunOptions{})
			g := p.guard(idempotency.Options{})
			busy, ok := errors.AsType[*idempotency.InProgressError](p.duplicateFails(g, "key", idempotency.ErrInProgress))
			if !ok {
				p.Fatal("a duplicate of a run under way got no *idempotency.InProgressError")
			}
			p.remains(busy.RetryAfter, time.Minute, "a lease")
			_, err := run.finish(nil)
			p.must(err, "the run")
			p.replays(g, "key", "done")
		},
	}, {
		name: "GuardMismatch",
		why:  "another content under a used key is a mistake that the caller must learn at once: before it is told to wait, whatever became of the first, and it is never run",
		test: guardMismatch,
	}, {
		name: "GuardReentrant",
		why:  "a run that asks for its own key would wait for itself",
		test: func(p *probe) {
			g := p.guard(idempotency.Options{Wait: patience})
			_, err := g.Run(p.ctx(), named("key"), idempotency.RunOptions{}, func(ctx context.Context) (idempotency.Result, error) {
				_, err := g.Run(ctx, named("key"), idempotency.RunOptions{}, returns("inner", nil))
				p.fails(err, idempotency.ErrReentrant, "a run of the key that is being run")
				_, err = g.Run(ctx, named("other"), idempotency.RunOptions{}, func(ctx context.Context) (idempotency.Result, error) {
					_, err := g.Run(ctx, named("key"), idempotency.RunOptions{}, returns("inner", nil))
					p.fails(err, idempotency.ErrReentrant, "a run of the key that is being run, through another")
					return value("other"), nil
				})
				return value("outer"), err
			})
			p.must(err, "a run")
			p.replays(g, "key", "outer")
			p.replays(g, "other", "other")
		},
	}, {
		name: "GuardBadInput",
		why:  "what is out of range is refused with its name before anything is sent: a key that is not whole must never become one that many share",
		test: guardBadInput,
	}, {
		name: "GuardDeadContext",
		why:  "a caller that has gone is not served, and leaves nothing behind",
		test: func(p *probe) {
			f := p.faulty()
			g := p.guardOn(f, idempotency.Options{})
			dead, cancel := context.WithCancel(p.Context())
			cancel()
			called := false
			_, err := g.Run(dead, named("key"), idempotency.RunOptions{}, func(context.Context) (idempotency.Result, error) {
				called = true
				return value("x"), nil
			})
			p.fails(err, context.Canceled, "a run under a context that had ended")
			if called {
				p.Fatal("a run under a context that had ended was run")
			}
			p.must(g.Close(p.ctx()), "Close") // nothing is on its way any more
			if n := f.seen(beginning); n != 0 {
				p.Fatalf("a run under a context that had ended asked the store %d times", n)
			}
			p.untouched(p.digest("key"))
		},
	}}
}

func guardMismatch(p *probe) {
	g, other := p.guard(idempotency.Options{}), p.guard(idempotency.Options{Wait: patience})
	a, b := idempotency.RunOptions{Fingerprint: p.print(1)}, idempotency.RunOptions{Fingerprint: p.print(2)}
	mismatch := func(name, when string) *idempotency.MismatchError {
		p.Helper()
		for _, guard := range []*idempotency.Guard{g, other} {
			_, err := p.duplicate(guard, name, b)
			p.fails(err, idempotency.ErrMismatch, "another content "+when)
			if errors.Is(err, idempotency.ErrInProgress) {
				p.Fatalf("another content %s is told as in progress, too", when)
			}
			if m, ok := errors.AsType[*idempotency.MismatchError](err); ok && guard == other {
				return m
			}
		}
		p.Fatal("another content got no *idempotency.MismatchError")
		return nil
	}
	run := p.starts(g, "key", "done", a)
	mismatch("key", "while the first is under way")
	_, err := p.duplicate(g, "key", a)
	p.fails(err, idempotency.ErrInProgress, "the same content while the first is under way")
	_, err = p.duplicate(g, "key", idempotency.RunOptions{})
	p.fails(err, idempotency.ErrInProgress, "a duplicate without a fingerprint")
	first, err := run.finish(nil)
	p.must(err, "the run")
	m := mismatch("key", "when the first has completed")
	if !m.ClaimedAt.Equal(first.ClaimedAt) || !m.CompletedAt.Equal(first.CompletedAt) {
		p.Fatalf("a mismatch tells the times %v and %v, want %v and %v", m.ClaimedAt, m.CompletedAt, first.ClaimedAt, first.CompletedAt)
	}
	for _, ro := range []idempotency.RunOptions{a, {}} {
		out, err := p.duplicate(g, "key", ro)
		p.must(err, "a duplicate of a run that succeeded")
		p.replayed(out, value("done"))
	}

	_, err = g.Run(p.ctx(), named("unknown"), a, returns("x", idempotency.Unknown(errRun)))
	p.fails(err, errRun, "a run whose outcome is unknown")
	mismatch("unknown", "when the outcome of the first is unknown")

	// A run that failed binds nobody: the next may be corrected.
	_, err = g.Run(p.ctx(), named("failed"), a, returns("x", errRun))
	p.fails(err, errRun, "a run that fails")
	out, err := g.Run(p.ctx(), named("failed"), b, returns("corrected", nil))
	p.must(err, "another content after a run that failed")
	if out.Status != idempotency.Executed {
		p.Fatalf("another content after a run that failed was %s", out.Status)
	}
}

func guardBadInput(p *probe) {
	names := func(err error, fields ...string) {
		p.Helper()
		p.fails(err, idempotency.ErrInvalid, "bad input")
		for _, field := range fields {
			if !strings.Contains(err.Error(), field) {
				p.Fatalf("%q does not name %s", err, field)
			}
		}
	}
	_, err := idempotency.New(nil, idempotency.Options{})
	names(err, "store")
	for _, d := range []time.Duration{-1, -time.Hour, 1, time.Millisecond, idempotency.MaxLease + 1} {
		_, err = idempotency.New(p.store, idempotency.Options{Lease: d})
		names(err, "Lease")
	}
	for _, d := range []time.Duration{-1, time.Second, idempotency.MaxRetention + 1} {
		_, err = idempotency.New(p.store, idempotency.Options{Lease: time.Minute, Retention: d})
		names(err, "Retention")
	}
	_, err = idempotency.New(p.store, idempotency.Options{
		Wait: -2, Timeout: -1, Margin: -1, UnknownFor: -1, CompleteFor: -1, StubFor: -1, MaxResult: -2,
	})
	names(err, "Wait", "Timeout", "Margin", "UnknownFor", "CompleteFor", "StubFor", "MaxResult")

	g := p.guard(idempotency.Options{})
	run := func(key idempotency.Key, ro idempotency.RunOptions, fields ...string) {
		p.Helper()
		_, err := g.Run(p.ctx(), key, ro, func(context.Context) (idempotency.Result, error) {
			p.Error("bad input was run")
			return value("x"), nil
		})
		names(err, fields...)
	}
	run(idempotency.Key{}, idempotency.RunOptions{}, "Key")
	run(idempotency.Key{Scope: "guard"}, idempotency.RunOptions{}, "Key")
	run(idempotency.Key{ID: "key"}, idempotency.RunOptions{}, "Key")
	run(named("key"), idempotency.RunOptions{Lease: -1}, "Lease")
	run(named("key"), idempotency.RunOptions{Retention: -1}, "Retention")
	run(named("key"), idempotency.RunOptions{Wait: -2}, "Wait")
	run(named("key"), idempotency.RunOptions{UnknownFor: -1}, "UnknownFor")
	run(named("key"), idempotency.RunOptions{MaxResult: -2}, "MaxResult")
	_, err = g.Run(p.ctx(), named("key"), idempotency.RunOptions{}, nil)
	names(err, "function")
	_, err = idempotency.Do(p.ctx(), g, named("key"), func(context.Context) (chan int, error) {
		p.Error("a run was called whose result cannot be encoded")
		return nil, nil
	})
	names(err)
	p.untouched(p.digest("key"))
}
