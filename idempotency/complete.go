package idempotency

import (
	"context"
	"time"

	"github.com/semel-go/semel/internal/keeper"
	"github.com/semel-go/semel/internal/line"
	"github.com/semel-go/semel/observe"
)

// insistFirst is the first pause between tries to record an outcome; the
// longest is 64 times that.
const insistFirst = 50 * time.Millisecond

// completion is one request to record an outcome.
type completion struct {
	keeper.Call
	core *core
	req  CompleteRequest
	late bool
	err  error
}

// Run asks the store; keeper.Op.
func (x *completion) Run(ctx context.Context) { x.late, x.err = x.core.store.Complete(ctx, x.req) }

// Late has nothing to do: the request is made again until it is answered.
func (x *completion) Late() {}

// send makes the request. The error matches ErrLost if the claim was not the
// caller's any more, else it may pass.
func (x *completion) send(ctx context.Context, timeout time.Duration) error {
	return answer(ctx, x.core, "complete", timeout, x, &x.Call, &x.err)
}

// answer runs op, whose error is at err, and returns that, or why there was no
// answer. An error that matches ErrLost is returned as it is.
func answer(ctx context.Context, c *core, name string, timeout time.Duration, op keeper.Op, call *keeper.Call, err *error) error {
	ran, finished := c.keeper.Do(ctx, timeout, op, call)
	switch {
	case !ran:
		return ErrClosed
	case !finished:
		return unanswered(ctx, name)
	case *err != nil && !isLost(*err):
		return unavailable(name, *err)
	}
	return *err
}

// complete records res as the outcome. It reports whether that is done: if the
// store does not answer it goes on in the background, and if another has taken
// the key over it never will be. It never makes the run's success a failure.
func (c *Claim) complete(r *run, res Result, at time.Time) (recorded bool) {
	ctx := context.WithoutCancel(c.parent)
	rec := Record{
		Nonce: c.nonce, Fence: c.fence, Attempt: c.attempt, Fingerprint: c.fingerprint,
		ClaimedAt: c.claimedAt, CompletedAt: at, Label: c.label,
	}
	res = c.fit(res)
	body, err := r.seal.seal(c.digest, rec, res)
	if err != nil { // a result that no body can hold
		c.tell(observe.ResultDropped, err)
		res = Result{Kind: KindTombstone}
		body, _ = r.seal.seal(c.digest, rec, res)
	}
	rec.Body = body
	c.settle()
	bound := c.parent.Done() != nil // who can be in a hurry is
	var gen generation              // a Forget after the request was sent is later than it
	try := func() error {
		gen = c.core.cache.generation(c.digest)
		x := &completion{core: c.core, req: CompleteRequest{Key: c.digest, Record: rec, Retention: c.o.Retention}}
		x.Bound, bound = bound, true
		err := x.send(ctx, c.o.Timeout)
		if err == nil && x.late {
			c.tell(observe.CompletedLate, nil)
		}
		return err
	}
	done := func(err error) {
		switch {
		case err == nil:
			c.core.cache.put(c.digest, gen, entry{record: rec, result: res}, c.o.Retention)
			c.core.lines.GiveAll(string(c.digest[:]), &Begun{State: StateCompleted, Record: rec, Remaining: c.o.Retention})
			c.tell(observe.Executed, nil)
		case isLost(err):
			c.core.lines.Nudge(string(c.digest[:]))
			c.tell(observe.CompleteRefused, err)
		}
	}
	return c.insist(c.o.CompleteFor, try, done)
}

// insist makes a request until it is answered, the first time at once and then
// in the background for at most limit. The claim is kept meanwhile. It reports
// whether the first try succeeded; done is called with the last answer.
func (c *Claim) insist(limit time.Duration, try func() error, done func(error)) bool {
	k := c.core.keeper
	since := keeper.Now()
	err := try()
	if err == nil || isLost(err) {
		c.Drop()
		done(err)
		return err == nil
	}
	c.tell(observe.CompleteFailed, err)
	k.Go(func() {
		for n := 1; since.Elapsed() < limit && k.Pause(line.Backoff(insistFirst, n)); n++ {
			if err = try(); err == nil || isLost(err) {
				c.Drop()
				done(err)
				return
			}
		}
		c.Drop()
		done(err)
		c.tell(observe.CompleteFailed, err)
	})
	return false
}
