package idempotencytest

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/semel-go/semel/idempotency"
)

func guardRunLaws() []law {
	return []law{{
		name: "GuardRunsOnce",
		why:  "of many duplicates in many processes one runs, and all the others get its result",
		test: guardRunsOnce,
	}, {
		name: "GuardErrorReleases",
		why:  "a run that fails leaves the key free, and the redelivery runs it again: who marks it as seen loses it",
		test: func(p *probe) {
			g := p.guard(idempotency.Options{})
			for want := range uint32(3) {
				out, err := g.Run(p.ctx(), named("key"), idempotency.RunOptions{}, returns("partial", errRun))
				if err != errRun {
					p.Fatalf("a run that returned %v ended in %v, want that very error", errRun, err)
				}
				if out.Status != idempotency.Executed || out.Recorded || out.Attempt != want+1 {
					p.Fatalf("a run that failed ended as %s, recorded: %t, attempt %d; want %s, not recorded, attempt %d",
						out.Status, out.Recorded, out.Attempt, idempotency.Executed, want+1)
				}
			}
			if out := p.executes(p.guard(idempotency.Options{}), "key", "done"); out.Attempt != 4 {
				p.Fatalf("the run after three that failed is attempt %d, want 4", out.Attempt)
			}
			p.replays(g, "key", "done")
		},
	}, {
		name: "GuardPanicReleases",
		why:  "a panic is a failure too: the key is free again, and the panic goes on",
		test: func(p *probe) {
			g := p.guard(idempotency.Options{})
			func() {
				defer func() {
					if v := recover(); v != errRun {
						p.Fatalf("a run that panicked with %v ended in the panic %v", errRun, v)
					}
				}()
				_, _ = g.Run(p.ctx(), named("key"), idempotency.RunOptions{}, func(context.Context) (idempotency.Result, error) {
					panic(errRun)
				})
				p.Fatal("a run that panicked returned")
			}()
			p.executes(p.guard(idempotency.Options{}), "key", "done")
		},
	}, {
		name: "GuardGoexitReleases",
		why:  "runtime.Goexit, which a failed assertion or an aborted handler calls, is neither an error nor a panic and must release all the same",
		test: func(p *probe) {
			g, gone := p.guard(idempotency.Options{}), make(chan struct{})
			ctx := p.ctx()
			go func() {
				defer close(gone)
				_, _ = g.Run(ctx, named("key"), idempotency.RunOptions{}, func(context.Context) (idempotency.Result, error) {
					runtime.Goexit()
					return value("never"), nil
				})
			}()
			await(p, gone, "the end of a goroutine")
			p.executes(p.guard(idempotency.Options{}), "key", "done")
		},
	}, {
		name: "GuardRecordsAfterRun",
		why:  "a record made before its run has succeeded is a message lost when the process dies in it",
		test: func(p *probe) {
			f := p.faulty()
			run := p.starts(p.guardOn(f, idempotency.Options{Lease: guardLease}), "key", "never", idempotency.RunOptions{})
			f.cut() // dead
			p.until("the end of a dead owner's claim", func() bool {
				b, err := p.ask(p.digest("key"), p.nonce(), long)
				p.must(err, "begin by another")
				switch b.State {
				case idempotency.StateClaimed:
					return true
				case idempotency.StateHeld:
					p.advance(guardLease / 4)
				default:
					p.Fatalf("a key whose run has not returned is %s", b.State)
				}
				return false
			})
			_, _ = run.finish(errRun)
		},
	}, {
		name: "GuardTellsClaim",
		why:  "the fence and the attempt reach the function that runs, so that it can guard what it writes and know when to give up",
		test: func(p *probe) {
			g, last := p.guard(idempotency.Options{}), uint64(0)
			for want := range uint32(5) {
				out, _ := g.Run(p.ctx(), named("key"), idempotency.RunOptions{}, func(ctx context.Context) (idempotency.Result, error) {
					claim, ok := idempotency.ClaimFrom(ctx)
					switch {
					case !ok:
						p.Fatal("a run's context has no claim")
					case claim.Fence() <= last:
						p.Fatalf("a run has the fence %d after %d", claim.Fence(), last)
					case claim.Attempt() != want+1 || claim.Key() != named("key"):
						p.Fatalf("a run is attempt %d of %q, want %d of %q", claim.Attempt(), claim.Key(), want+1, named("key"))
					}
					last = claim.Fence()
					return value("x"), errRun
				})
				if out.Fence != last {
					p.Fatalf("the outcome has the fence %d, the run had %d", out.Fence, last)
				}
			}
			if out := p.executes(g, "key", "done"); out.Fence <= last {
				p.Fatalf("a run has the fence %d after %d", out.Fence, last)
			}
		},
	}, {
		name: "GuardEndsContext",
		why:  "what a run leaves going in the background must see that its claim is over",
		test: func(p *probe) {
			var inner context.Context
			_, err := p.guard(idempotency.Options{}).Run(p.ctx(), named("key"), idempotency.RunOptions{},
				func(ctx context.Context) (idempotency.Result, error) {
					inner = ctx
					return value("x"), ctx.Err()
				})
			p.must(err, "a run whose context is alive")
			await(p, inner.Done(), "the end of a run's context")
			if cause := context.Cause(inner); !errors.Is(cause, idempotency.ErrFinished) {
				p.Fatalf("the context of a run that has returned ended with %v, want %v", cause, idempotency.ErrFinished)
			}
		},
	}, {
		name: "GuardCallerLeaves",
		why:  "a client that hangs up ends the run's context; what the run then returns is recorded all the same, for the effect has happened",
		test: func(p *probe) {
			// The store itself, and one whose calls do not heed their context.
			for name, g := range map[string]*idempotency.Guard{
				"store": p.guard(idempotency.Options{}), "deaf store": p.guardOn(p.faulty(), idempotency.Options{}),
			} {
				ctx, cancel := context.WithCancel(p.Context())
				out, err := g.Run(ctx, named(name), idempotency.RunOptions{}, func(ctx context.Context) (idempotency.Result, error) {
					cancel()
					await(p, ctx.Done(), "the end of a run's context")
					return value("done"), nil
				})
				p.must(err, "a run whose caller left")
				if !out.Recorded {
					p.Fatal("a run whose caller left was not recorded")
				}
				p.replays(p.guard(idempotency.Options{}), name, "done")

				ctx, cancel = context.WithCancel(p.Context())
				_, err = g.Run(ctx, named(name+" failed"), idempotency.RunOptions{}, func(ctx context.Context) (idempotency.Result, error) {
					cancel()
					await(p, ctx.Done(), "the end of a run's context")
					return idempotency.Result{}, ctx.Err()
				})
				p.fails(err, context.Canceled, "a run that gave up because its caller left")
				p.executes(p.guard(idempotency.Options{}), name+" failed", "done")
			}
		},
	}}
}

func guardRunsOnce(p *probe) {
	const processes, each = 4, 16
	var (
		runs    atomic.Int32
		outs    [processes * each]idempotency.Outcome
		errs    [processes * each]error
		working sync.WaitGroup
	)
	start := make(chan struct{})
	for process := range processes {
		g := p.guard(idempotency.Options{Wait: patience})
		for i := range each {
			ctx := p.ctx()
			working.Go(func() {
				<-start
				n := process*each + i
				outs[n], errs[n] = g.Run(ctx, named("key"), idempotency.RunOptions{}, func(context.Context) (idempotency.Result, error) {
					runs.Add(1)
					time.Sleep(50 * time.Millisecond)
					return value("the one result"), nil
				})
			})
		}
	}
	close(start)
	working.Wait()
	executed := 0
	for n, out := range outs {
		p.must(errs[n], "a run or its duplicate")
		if string(out.Result.Data) != "the one result" {
			p.Fatalf("a duplicate got %.40q", out.Result.Data)
		}
		if out.Status == idempotency.Executed {
			executed++
		}
	}
	if runs.Load() != 1 || executed != 1 {
		p.Fatalf("%d runs, %d said to be executed, of one key; want 1", runs.Load(), executed)
	}
}
