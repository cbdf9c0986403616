package idempotencytest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/observe"
)

func guardLeaseLaws() []law {
	return []law{{
		name:  "GuardRenewsLongRuns",
		why:   "a run that takes longer than its lease keeps its claim, so that no duplicate runs beside it",
		needs: []ability{passing},
		test: func(p *probe) {
			p.unlessStalled(func(name string) error {
				other := p.guard(idempotency.Options{})
				run := p.starts(p.guard(idempotency.Options{Lease: guardLease}), name, "done", idempotency.RunOptions{})
				var lost error
				for range 10 {
					time.Sleep(guardLease / 4)
					if lost = run.ctx.Err(); lost != nil {
						break
					}
					out, err := other.Run(p.ctx(), named(name), idempotency.RunOptions{}, returns("again", nil))
					if !errors.Is(err, idempotency.ErrInProgress) {
						lost = fmt.Errorf("a duplicate of a long run was not refused: %s, error: %t", out.Status, err != nil)
						break
					}
				}
				out, err := run.finish(nil)
				p.must(err, "a long run")
				if lost == nil && !out.Recorded {
					return errors.New("a long run was not recorded")
				}
				return lost
			})
		},
	}, {
		name:  "GuardSurvivesLostRenewals",
		why:   "one renewal that fails, or whose reply is lost, is sent again while there is time: it must not cost the claim",
		needs: []ability{passing},
		test: func(p *probe) {
			p.unlessStalled(func(name string) error {
				f := p.faulty()
				run := p.starts(p.guardOn(f, idempotency.Options{Lease: guardLease}), name, "done", idempotency.RunOptions{})
				for _, how := range []fault{refuses, losesReply} {
					f.fail(renewing, how, 1)
					time.Sleep(guardLease * 5 / 4)
				}
				lost := context.Cause(run.ctx)
				out, err := run.finish(nil)
				p.must(err, "a run whose renewals failed")
				if lost == nil && !out.Recorded {
					return errors.New("a run whose renewals failed was not recorded")
				}
				return lost
			})
		},
	}, {
		name:  "GuardStopsInTime",
		why:   "an owner that cannot renew learns that its claim is lost before another can have it, whatever the renewal call does",
		needs: []ability{passing},
		test: func(p *probe) {
			p.unlessStalled(func(name string) error {
				f := p.faulty()
				// The claim cannot have been made before this.
				start := time.Now()
				run := p.starts(p.guardOn(f, idempotency.Options{Lease: guardLease}), name, "done", idempotency.RunOptions{})
				f.fail(renewing, hangs, always)
				await(p, run.ctx.Done(), "the end of the context of a run that is not renewed")
				told := time.Since(start)
				if cause := context.Cause(run.ctx); !errors.Is(cause, idempotency.ErrLost) {
					p.Fatalf("the context of a run that is not renewed ended with %v, want %v", cause, idempotency.ErrLost)
				}
				f.mend()
				_, _ = run.finish(errRun)
				if told > guardLease {
					return fmt.Errorf("the owner was told after %v that its lease of %v is over", told, guardLease)
				}
				return nil
			})
		},
	}, {
		name:  "GuardCrashHandsOver",
		why:   "the event of an owner that died is run by another when the lease is over; should the owner live after all, its outcome is refused, and its caller still gets its answer",
		needs: []ability{passing},
		test: func(p *probe) {
			f, d := p.faulty(), &diary{}
			g := p.guardOn(f, idempotency.Options{Lease: guardLease, Observer: d})
			var fence uint64
			called, end := make(chan context.Context, 1), make(chan struct{})
			done := p.runSoon(context.Background(), g, "key", idempotency.RunOptions{}, func(ctx context.Context) (idempotency.Result, error) {
				claim, _ := idempotency.ClaimFrom(ctx)
				fence = claim.Fence()
				called <- ctx
				<-end
				return value("the late owner's"), nil
			})
			ctx := await(p, called, "the call of a run")
			f.cut()
			await(p, ctx.Done(), "the end of the context of a run that is cut off")
			out := p.runsSoon(p.guard(idempotency.Options{}), "key", "the successor's")
			if out.Fence <= fence {
				p.Fatalf("the successor has the fence %d, the owner that was cut off %d", out.Fence, fence)
			}
			f.mend()
			close(end)
			late := await(p, done, "the end of a run")
			p.must(late.err, "a run that succeeded though it was cut off")
			if late.out.Recorded || string(late.out.Result.Data) != "the late owner's" {
				p.Fatalf("a late owner's run ended with %q, recorded: %t; want its own result, not recorded", late.out.Result.Data, late.out.Recorded)
			}
			p.tells(d, observe.CompleteRefused)
			p.replays(g, "key", "the successor's")
		},
	}, {
		name: "GuardLateOutcomeIsKept",
		why:  "an owner whose lease ran out and whom nobody followed has made the effect happen: its outcome is recorded, and nothing runs again",
		test: func(p *probe) {
			f, d := p.faulty(), &diary{}
			run := p.starts(p.guardOn(f, idempotency.Options{Lease: guardLease, Observer: d}), "key", "done", idempotency.RunOptions{})
			f.cut()
			p.outlast(guardLease + guardLease/2) // a renewal may have been under way
			f.mend()
			out, err := run.finish(nil)
			p.must(err, "a run that succeeded after its lease")
			if !out.Recorded {
				p.Fatal("the outcome of an owner whom nobody followed was not recorded")
			}
			p.tells(d, observe.CompletedLate)
			p.replays(p.guard(idempotency.Options{}), "key", "done")
		},
	}}
}

// unlessStalled runs attempt, and again for another key if it failed while this
// process was stalled for so long that a claim could be lost through no fault
// of the store's.
func (p *probe) unlessStalled(attempt func(name string) error) {
	p.Helper()
	for i := range 3 {
		stop, stalled := make(chan struct{}), make(chan bool, 1)
		go func() {
			worst, last := time.Duration(0), time.Now()
			tick := time.NewTicker(guardLease / 100)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					worst, last = max(worst, time.Since(last)), time.Now()
				case <-stop:
					stalled <- max(worst, time.Since(last)) > guardLease/10
					return
				}
			}
		}()
		err := attempt(fmt.Sprint("key", i))
		close(stop)
		if slow := <-stalled; err == nil {
			return
		} else if !slow {
			p.Fatal(err)
		}
	}
	p.Fatalf("this machine stalls too often for a lease of %v", guardLease)
}
