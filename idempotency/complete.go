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
	gen  generation // a Forget after the request was sent is later than it
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

// recording is an outcome on its way into the store.
type recording struct {
	claim  *Claim
	result Result
	sent   *completion // the last request
	first  completion  // the first one
}

// complete records res as the outcome. It reports whether that is done: if the
// store does not answer it goes on in the background, and if another has taken
// the key over it never will be. It never makes the run's success a failure.
func (c *Claim) complete(res Result, at time.Time) (recorded bool) {
	sealed := false
	defer func() {
		if !sealed { // a Compressor panicked: the effect has happened all the same
			c.complete(Result{Kind: KindTombstone}, at)
		}
	}()
	x := &recording{claim: c}
	x.first.core = c.core
	x.first.req, x.result = c.record(c.fit(res), at)
	sealed = true
	c.settle()
	return c.insist(c.o.CompleteFor, x)
}

// record returns the request that records res, and res as it is recorded: no
// body can hold every result.
func (c *Claim) record(res Result, at time.Time) (CompleteRequest, Result) {
	req := CompleteRequest{Key: c.digest, Retention: c.o.Retention, Record: Record{
		Nonce: c.nonce, Fence: c.fence, Attempt: c.attempt, Fingerprint: c.fingerprint,
		ClaimedAt: c.claimedAt, CompletedAt: at, Label: c.label,
	}}
	body, err := c.seal.seal(c.digest, req.Record, res)
	if err != nil {
		c.tell(observe.ResultDropped, err)
		res = Result{Kind: KindTombstone}
		body, _ = c.seal.seal(c.digest, req.Record, res)
	}
	req.Record.Body = body
	return req, res
}

// try makes a request; insistent.
func (x *recording) try() error {
	c, next := x.claim, &x.first
	if x.sent != nil {
		next = &completion{core: c.core, req: x.first.req}
	}
	next.Bound = x.sent != nil || c.parent.Done() != nil // who can be in a hurry is
	next.gen = c.core.cache.generation(c.digest)
	x.sent = next
	err := next.send(context.WithoutCancel(c.parent), c.o.Timeout)
	if err == nil && next.late {
		c.tell(observe.CompletedLate, nil)
	}
	return err
}

// done tells those who wait for the outcome; insistent.
func (x *recording) done(err error) {
	c, req := x.claim, &x.sent.req
	switch {
	case err == nil:
		c.core.cache.put(c.digest, x.sent.gen, entry{record: req.Record, result: x.result}, req.Retention)
		if c.core.waited(c.digest) {
			c.core.lines.GiveAll(string(c.digest[:]), &Begun{State: StateCompleted, Record: req.Record, Remaining: req.Retention})
		}
		c.tell(observe.Executed, nil)
	case isLost(err):
		c.core.lines.Nudge(string(c.digest[:]))
		c.tell(observe.CompleteRefused, err)
	}
}

// waited reports whether anybody is in the line of d. Who comes later asks the
// store.
func (c *core) waited(d Digest) bool {
	key := string(d[:])
	s := c.lines.Shard(key)
	s.Lock()
	defer s.Unlock()
	return s.Find(key) != nil
}

// insistent is a request that is made until it is answered.
type insistent interface {
	// try makes it once. An error that does not match ErrLost may pass.
	try() error
	// done is called with the last answer.
	done(err error)
}

// insist makes a request until it is answered, the first time at once and then
// in the background for at most limit. The claim is kept meanwhile. It reports
// whether the first try succeeded.
func (c *Claim) insist(limit time.Duration, x insistent) bool {
	err := x.try()
	if err == nil || isLost(err) {
		c.hold.Drop()
		x.done(err)
		return err == nil
	}
	c.tell(observe.CompleteFailed, err)
	c.core.keeper.Go(func() { c.goOn(limit, x, err) })
	return false
}

// goOn is what insist does in the background, after err.
func (c *Claim) goOn(limit time.Duration, x insistent, err error) {
	since := keeper.Now()
	for n := 1; since.Elapsed() < limit && c.core.keeper.Pause(line.Backoff(insistFirst, n)); n++ {
		if err = x.try(); err == nil || isLost(err) {
			c.hold.Drop()
			x.done(err)
			return
		}
	}
	c.hold.Drop()
	x.done(err)
	c.tell(observe.CompleteFailed, err)
}
