package idempotency

import (
	"context"
	"errors"
	"time"

	"github.com/semel-go/semel/observe"
)

// execute runs fn under the claim and ends the claim in the way that fn did.
func (c *Claim) execute(r *run, fn func(context.Context) (Result, error)) (out Outcome, err error) {
	returned := false
	defer func() {
		if !returned { // a panic or Goexit goes on when this is done
			c.finish(ErrFinished)
			_, _ = c.conclude(Result{Kind: KindTombstone}, errNotReturned)
		}
	}()
	r.tell(observe.Event{Kind: observe.Acquired, Fence: c.fence, Wait: r.waited()})
	res, err := fn(c.context())
	returned = true
	c.finish(ErrFinished)
	out, err = c.conclude(res, err)
	return out, err
}

// errNotReturned is the error of a run that panicked or called Goexit.
var errNotReturned = errors.New("idempotency: run did not return")

// conclude ends the claim of a run that ended with res and err. If an observer
// panics meanwhile, the claim is renewed no more: nobody else would ever end it.
func (c *Claim) conclude(res Result, err error) (Outcome, error) {
	concluded := false
	defer func() {
		if !concluded {
			c.hold.Drop()
		}
	}()
	out := Outcome{Status: Executed, Result: res, Fence: c.fence, Attempt: c.attempt, ClaimedAt: c.claimedAt}
	if c.finishedInTx() {
		out, err = c.settleTx(out, err)
	} else {
		c.endAs(&out, res, err)
	}
	concluded = true
	return out, err
}

// endAs ends the claim as the handler has steered it, or else as its run ended.
func (c *Claim) endAs(out *Outcome, res Result, err error) {
	end, permanent := c.Steered()
	switch {
	case end == EndPermanent:
		res = failure(permanent)
	case end == EndUnknown, end == EndByReturn && IsUnknown(err):
		c.holdUnknown(err)
		return
	case end == EndRelease:
		c.release(err)
		return
	case err == nil, end == EndKeep && err == errNotReturned:
		// res is what to record.
	case end == EndKeep, isFinal(err):
		res = failure(err)
	default:
		c.release(err)
		return
	}
	out.CompletedAt = time.Now().Truncate(time.Millisecond)
	out.Recorded = c.complete(res, out.CompletedAt)
}

// isFinal reports whether Final marked err.
func isFinal(err error) bool {
	_, ok := errors.AsType[*FinalError](err)
	return ok
}

// failure is the result that records err.
func failure(err error) Result { return Result{Kind: KindError, Data: []byte(err.Error())} }

// fit returns res as it can be recorded.
func (c *Claim) fit(res Result) Result {
	if len(res.Data) <= c.o.MaxResult {
		return res
	}
	c.tell(observe.ResultDropped, nil)
	if res.Kind == KindError && c.o.MaxResult > 0 {
		return Result{Kind: KindError, Data: res.Data[:c.o.MaxResult]} // its text is for people
	}
	return Result{Kind: KindTombstone}
}
