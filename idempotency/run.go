package idempotency

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/semel-go/semel/internal/line"
	"github.com/semel-go/semel/observe"
)

// Status says where an outcome came from.
type Status uint8

// The statuses of an Outcome.
const (
	// Executed: this call ran the function.
	Executed Status = iota + 1
	// Replayed: an earlier run was recorded, and this is its result.
	Replayed
)

// String returns the status's name.
func (s Status) String() string {
	switch s {
	case Executed:
		return "executed"
	case Replayed:
		return "replayed"
	}
	return "none"
}

// Outcome is how a key's run ended.
type Outcome struct {
	// Status says whether this call ran it. 0: there is no outcome.
	Status Status
	// Result is what it left behind. A replayed one is shared with other
	// callers: its Data must not be changed.
	Result Result
	// Fence and Attempt are those of the run.
	Fence   uint64
	Attempt uint32
	// ClaimedAt and CompletedAt are the run's times, by its owner's clock.
	ClaimedAt, CompletedAt time.Time
	// Recorded says that the outcome is in the store. If an executed run's is
	// not yet, the Guard goes on trying; see Options.CompleteFor.
	Recorded bool
}

// call is one call of Run. It is apart from run so that the local cache answers
// it without an allocation.
type call struct {
	ctx         context.Context
	core        *core
	o           *Options // with its defaults
	seal        *sealer
	key         Key
	digest      Digest
	fingerprint Fingerprint
	began       time.Time // zero without an observer
	gen         generation
}

// run is a call on its way to an outcome.
type run struct {
	line.Waiter
	call
	tries   int       // asks in a row without news
	unclear int       // asks in a row that were not answered
	lastTo  time.Time // until when the last clear answer tells anything
	resume  time.Time // when to ask again after one that was not
	trouble error     // why the last ask was not answered; nil if it was
	last    *Begun    // the last clear answer
	doubt   *begin    // the last ask, if it was not answered
	claim   *Claim    // the one that an ask was answered with
	first   begin
	used    bool // first is
}

// Run runs fn once for key, over all processes that share the store, and
// returns its outcome: of this run, or of the earlier one that was recorded.
//
// fn's context ends when ctx does, and with cause [ErrLost] when the claim can
// no longer be trusted: ending a context does not stop what was already sent,
// which is what the fence is for. [ClaimFrom] finds the claim in it. How fn
// ends decides what becomes of the key: nil and an error from [Final] are
// recorded; an error from [Unknown] holds the key; any other error, a panic and
// runtime.Goexit release it, and the next call runs it again.
//
// If fn was run, the error is fn's, whatever became of the record; see
// Outcome.Recorded. Otherwise it says why not, and fn was not called:
//
//   - *[FinalError]: replayed, with the outcome.
//   - [ErrResultUnavailable]: completed, and there is no result to replay; the
//     outcome has the times, and the result if it is a tombstone.
//   - *[MismatchError]: the key was used with another fingerprint. It is told
//     even while the first run is under way.
//   - *[InProgressError]: another run is under way, and was still when the
//     wait, or ctx, ended.
//   - *[UnknownError]: the outcome of an earlier run is unknown.
//   - [ErrUnavailable]: the store did not answer.
//   - [ErrReentrant], [ErrInvalid], [ErrClosed], or ctx's error if it had ended
//     before anything was sent.
func (g *Guard) Run(ctx context.Context, key Key, ro RunOptions, fn func(ctx context.Context) (Result, error)) (Outcome, error) {
	if fn == nil {
		return Outcome{}, fmt.Errorf("%w: nil function", ErrInvalid)
	}
	c, err := g.start(ctx, key, ro)
	if err != nil {
		return Outcome{}, err
	}
	if out, err, ok := c.cached(); ok {
		return out, err
	}
	r := &run{call: c}
	if !r.core.keeper.Enter() {
		return Outcome{}, ErrClosed
	}
	// Until the run has ended, not only until it has a claim: that may be lost
	// long before, and the outcome is to be recorded all the same.
	defer r.core.keeper.Exit()
	claim, out, err := r.seek()
	switch {
	case claim != nil:
		return claim.execute(r, fn)
	case r.o.FailOpen && errors.Is(err, ErrUnavailable) && ctx.Err() == nil:
		r.tell(observe.Event{Kind: observe.RunUnguarded, Err: err})
		res, err := fn(unclaimed(ctx))
		return Outcome{Status: Executed, Result: res}, err
	}
	return out, err
}

// start checks the arguments.
func (g *Guard) start(ctx context.Context, key Key, ro RunOptions) (c call, err error) {
	if g.bad != nil {
		return c, g.bad
	}
	o, fingerprint := g.full, ro.Fingerprint
	ro.Fingerprint = Fingerprint{}
	if ro != (RunOptions{}) {
		changed := g.o.run(ro).withDefaults()
		if err := changed.validate(); err != nil {
			return c, err
		}
		o = &changed
	}
	d, err := g.core.scopes.digest(key)
	switch {
	case err != nil:
		return c, err
	case ctx.Err() != nil:
		return c, fmt.Errorf("idempotency: run: nothing was sent: %w", ctx.Err())
	case g.core.closed.Load():
		return c, ErrClosed
	case g.core.claimed(ctx, d):
		return c, ErrReentrant
	}
	c = call{ctx: ctx, core: g.core, o: o, seal: g.seal, key: key, digest: d, fingerprint: fingerprint}
	if o.Observer != nil {
		c.began = time.Now()
	}
	return c, nil
}

// cached answers from the local cache.
func (r *call) cached() (Outcome, error, bool) {
	e, ok := r.core.cache.get(r.digest)
	if !ok {
		return Outcome{}, nil, false
	}
	out, err := r.replay(&e.record, e.result, nil)
	return out, err, true
}

// waited returns how long the call has taken so far, for the observer; without
// one nobody looks at the clock.
func (r *call) waited() time.Duration {
	if r.o.Observer == nil {
		return 0
	}
	return time.Since(r.began)
}

// waits reports whether r waits in a line.
func (r *call) waits() bool { return r.o.Wait > 0 }

// seek brings the call to a claim, or to an outcome without one.
func (r *run) seek() (*Claim, Outcome, error) {
	if !r.waits() {
		answer, err := r.ask(r.o.Timeout)
		if err != nil {
			return nil, Outcome{}, r.fail(err)
		}
		claim, out, err, _ := r.judge(answer)
		return claim, out, err
	}
	key := string(r.digest[:])
	s := r.core.lines.Shard(key)
	r.Of = r
	r.core.lines.Init(&r.Waiter, s, key, r.o.Wait)
	s.Lock()
	s.Line(key).Join(&r.Waiter)
	s.Unlock()
	defer r.Leave()
	for {
		gift, asker := r.look()
		pause := line.Forever // only news can help
		switch {
		case gift != nil:
			claim, out, err, _ := r.judge(gift)
			return claim, out, err
		case asker && r.doubt != nil:
			// It is undone before another is sent.
		case asker && time.Until(r.resume) > 0:
			pause = time.Until(r.resume) // no news hurries a store that is in trouble
		case asker:
			answer, err := r.ask(min(r.o.Timeout, max(r.Left(), r.o.Timeout/10)))
			if err != nil && (r.ctx.Err() != nil || !errors.Is(err, ErrUnavailable)) {
				return nil, Outcome{}, r.fail(err)
			}
			if err != nil {
				pause = time.Until(r.resume)
				break
			}
			claim, out, err, wait := r.judge(answer)
			if !wait {
				return claim, out, err
			}
			pause = r.pause(answer)
		}
		if err := r.Sleep(r.ctx, pause); err != nil {
			return nil, Outcome{}, r.fail(err)
		}
	}
}

// look reads what others have done for the call since it slept: given it an
// answer, or made it the asker.
func (r *run) look() (*Begun, bool) {
	gift, asker, news := r.Look()
	if news {
		r.tries = 0
	}
	if r.doubt != nil && r.doubt.undone.Load() {
		r.doubt = nil
	}
	answer, _ := gift.(*Begun)
	return answer, asker
}

// pause returns how long to wait for news before asking again.
func (r *run) pause(answer *Begun) time.Duration {
	return r.Pause(r.tries, answer.Remaining)
}

// ask sends one request to the store.
func (r *run) ask(timeout time.Duration) (*Begun, error) {
	b := &r.first
	if r.used {
		b = &begin{}
	}
	r.used = true
	r.tries++
	r.gen = r.core.cache.generation(r.digest)
	err := b.send(r, timeout)
	r.trouble, r.doubt = nil, nil
	if err == nil && b.answer.State == StateClaimed {
		claim, ok := b.hold()
		switch {
		case !ok:
			err = unavailable("begin", errLate)
		case r.ctx.Err() != nil: // won too late
			if claim.hold.Drop() {
				b.undo()
			}
			return nil, fmt.Errorf("idempotency: run: given back: %w", r.ctx.Err())
		}
	}
	if err == nil {
		r.last, r.unclear, r.lastTo = &b.answer, 0, time.Now().Add(b.answer.Remaining)
		if r.waits() && (b.answer.State == StateCompleted || b.answer.State == StateUnknown) {
			// Those who wait behind need not ask.
			r.core.lines.GiveAll(string(r.digest[:]), &b.answer)
		}
		if b.answer.State == StateClaimed {
			r.claim = &b.claim
		}
		return &b.answer, nil
	}
	r.trouble = err
	r.unclear++
	r.resume = time.Now().Add(line.Retry(r.unclear))
	if !b.undone.Load() {
		r.doubt = b
	}
	return nil, err
}

// judge draws the consequence of an answer for this call. wait says that it
// may be worth while to ask again.
func (r *run) judge(answer *Begun) (claim *Claim, out Outcome, err error, wait bool) {
	switch answer.State {
	case StateClaimed:
		return r.claim, Outcome{}, nil, false
	case StateCompleted:
		out, err = r.replay(&answer.Record, Result{}, answer)
		return nil, out, err, false
	}
	if answer.State != StateFree && r.mismatch(answer.Fingerprint) {
		r.tell(observe.Event{Kind: observe.Mismatch, Wait: r.waited()})
		return nil, Outcome{}, &MismatchError{State: answer.State}, false
	}
	if answer.State == StateUnknown {
		r.tell(observe.Event{Kind: observe.OutcomeUnknown, Wait: r.waited()})
		return nil, Outcome{}, &UnknownError{Until: time.Now().Add(answer.Remaining)}, false
	}
	err = &InProgressError{RetryAfter: answer.Remaining}
	if !r.waits() {
		r.tell(observe.Event{Kind: observe.InProgress, Err: err})
	}
	return nil, Outcome{}, err, true
}

// mismatch reports whether the key was used for something else.
func (r *call) mismatch(theirs Fingerprint) bool {
	return theirs != r.fingerprint && theirs != (Fingerprint{}) && r.fingerprint != (Fingerprint{})
}

// replay answers from a record: opened already, or to be opened from answer and
// then cached.
func (r *call) replay(rec *Record, res Result, answer *Begun) (Outcome, error) {
	if r.mismatch(rec.Fingerprint) {
		r.tell(observe.Event{Kind: observe.Mismatch, Wait: r.waited()})
		return Outcome{}, &MismatchError{State: StateCompleted, ClaimedAt: rec.ClaimedAt, CompletedAt: rec.CompletedAt}
	}
	out := Outcome{
		Status: Replayed, Fence: rec.Fence, Attempt: rec.Attempt,
		ClaimedAt: rec.ClaimedAt, CompletedAt: rec.CompletedAt, Recorded: true,
	}
	if answer != nil {
		var err error
		if res, err = r.seal.open(r.digest, *rec); err != nil {
			r.tell(observe.Event{Kind: observe.ResultUnavailable, Fence: rec.Fence, Err: err})
			return out, err
		}
		r.core.cache.put(r.digest, r.gen, entry{record: *rec, result: res}, answer.Remaining)
	}
	out.Result = res
	switch res.Kind {
	case KindError:
		r.tell(observe.Event{Kind: observe.Replayed, Fence: rec.Fence, Wait: r.waited()})
		return out, &FinalError{Err: errors.New(string(res.Data))}
	case KindTombstone:
		err := noResult("not retained")
		r.tell(observe.Event{Kind: observe.ResultUnavailable, Fence: rec.Fence, Err: err})
		return out, err
	}
	r.tell(observe.Event{Kind: observe.Replayed, Fence: rec.Fence, Wait: r.waited()})
	return out, nil
}

// fail tells the observer how the call failed, and the caller in the terms of
// the API.
func (r *run) fail(err error) error {
	ctxErr := r.ctx.Err()
	cut := err == line.ErrWaitOver || ctxErr != nil && (err == ctxErr || errors.Is(err, ErrUnavailable))
	switch {
	case cut && r.trouble != nil && (r.last == nil || r.unclear > 1 || time.Now().After(r.lastTo)):
		// Never a clear answer, or none of late: unavailable is not contention.
		if err = r.trouble; ctxErr != nil && !errors.Is(err, ctxErr) {
			err = unavailable("begin", ctxErr)
		}
	case cut:
		busy := &InProgressError{Cause: ctxErr}
		if r.last != nil {
			busy.RetryAfter = r.last.Remaining
		}
		err = busy
	case err == line.ErrClosed:
		err = ErrClosed
	}
	kind := observe.InProgress
	if !errors.Is(err, ErrInProgress) {
		kind = observe.Unavailable
	}
	r.tell(observe.Event{Kind: kind, Wait: r.waited(), Err: err})
	return err
}

func (r *call) tell(e observe.Event) { tell(r.ctx, r.o.Observer, r.digest, e) }
