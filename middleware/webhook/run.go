package webhook

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/internal/response"
	"github.com/semel-go/semel/observe"
)

// answer is what became of one event: the handler's own answer, now or earlier,
// or one of ours.
type answer struct {
	status   int
	rec      *response.Recorder // now
	recorded *response.Recorded // earlier
	notRun   notRun
}

// events runs the handler for each of events and answers the delivery.
func (e *endpointOf) events(next http.Handler, w http.ResponseWriter, r *http.Request, events []Event) {
	var first answer
	began := time.Now()
	for i := range events {
		ev := events[i] // the list is the verifier's
		ev.Provider, ev.Endpoint = e.verifier.Provider(), e.name
		var wait time.Duration
		if i > 0 && e.o.Wait > 0 {
			// The provider waits for the delivery, not for each of its events.
			if wait = e.o.Wait - time.Since(began); wait <= 0 {
				wait = NoWait
			}
		}
		a := e.run(next, w, r, &ev, wait)
		if i == 0 || isOK(first.status) && !isOK(a.status) {
			first = a
		}
	}
	if len(events) > 1 && isOK(first.status) {
		first = answer{notRun: notRun{status: e.policy.OK}} // no event's answer speaks for all
	}
	switch {
	case first.rec != nil:
		_ = first.rec.Send() // the client may have left; the record is made
	case first.recorded != nil:
		if first.recorded.Replay(w, r, response.MarkReplayed) == response.ErrNotAcceptable {
			e.send(w, notRun{status: first.status})
		}
	default:
		e.send(w, first.notRun)
	}
}

// errReleased ends a run whose answer is not to be kept.
var errReleased = errors.New("webhook: the handler did not answer with 2xx, or let the event go")

// run runs the handler for one event, unless that has been done. wait stands for
// Options.Wait if it is not 0.
func (e *endpointOf) run(next http.Handler, w http.ResponseWriter, r *http.Request, ev *Event, wait time.Duration) answer {
	// The provider's patience is not the handler's. The context can end all the
	// same, so that the guard keeps its deadlines towards the store.
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	key := idempotency.Key{Scope: idempotency.Scope("webhook", ev.Provider, ev.Endpoint, ev.Tenant), ID: ev.ID}
	var rec *response.Recorder
	var own answer
	out, err := e.guard.Run(ctx, key, idempotency.RunOptions{Wait: wait}, func(ctx context.Context) (idempotency.Result, error) {
		rec = e.recorder(w, r)
		h := &handling{event: ev, policy: &e.policy}
		got := e.call(ctx, next, rec, r, h)
		var res idempotency.Result
		var err error
		own, res, err = e.conclude(ctx, h, got)
		return res, err
	})
	switch {
	case rec != nil:
		if own.notRun.status == 0 {
			own.rec = rec
		}
		return own
	case errors.Is(err, idempotency.ErrReentrant):
		// Once stands twice in the way, and the outer one has the claim: it decides.
		rec = e.recorder(w, r)
		next.ServeHTTP(rec, forEvent(r.WithContext(r.Context()), ev))
		return answer{status: rec.Finish().Status, rec: rec}
	case err == nil:
		if kept, err := response.Decode(out.Result.Data); err == nil && out.Result.Codec == response.Codec {
			return answer{status: kept.Status, recorded: &kept}
		}
		err = idempotency.ErrResultUnavailable
		fallthrough
	default:
		n := e.because(err)
		return answer{status: n.status, notRun: n}
	}
}

// recorder returns what a handler's answer is recorded with, and held back.
func (e *endpointOf) recorder(w http.ResponseWriter, r *http.Request) *response.Recorder {
	return response.NewRecorder(w, r, response.Options{Limit: maxAnswer, HoldBack: true, DropBody: true})
}

// call calls the handler with a context that lives for MaxRun, and returns what
// it answered. That is final before the context ends: who waits for the end, in
// a goroutine left behind, has no say in it.
func (e *endpointOf) call(ctx context.Context, next http.Handler, rec *response.Recorder, r *http.Request, h *handling) response.Recorded {
	returned := false
	defer func() {
		if !returned {
			rec.Abandon()
		}
	}()
	stop := overrunning(e.o.MaxRun, e.lease(), func(held time.Duration) {
		e.observe(ctx, observe.Event{Kind: observe.Overrun, Key: digestOf(ctx), Held: held})
	})
	defer stop()
	run, cancel := context.WithTimeoutCause(ctx, e.o.MaxRun, ErrOverrun)
	defer cancel()
	next.ServeHTTP(rec, forEvent(r.WithContext(context.WithValue(run, handlingKey{}, h)), h.event))
	returned = true
	return rec.Finish()
}

// conclude turns what the handler answered, returned and asked of its claim into
// the run's result, and into the answer if that is not the handler's own.
func (e *endpointOf) conclude(ctx context.Context, h *handling, got response.Recorded) (answer, idempotency.Result, error) {
	err := h.outcome()
	how, reason := idempotency.EndByReturn, error(nil)
	claim, ok := idempotency.ClaimFrom(ctx)
	if ok { // not if the guard fails open
		how, reason = claim.Steered()
	}
	if how == idempotency.EndByReturn && isPermanent(err) {
		how, reason = idempotency.EndPermanent, err
	}
	switch how {
	case idempotency.EndPermanent:
		e.observe(ctx, observe.Event{Kind: observe.Refused, Key: digestOf(ctx), Err: reason})
		fallthrough
	case idempotency.EndKeep:
		if ok {
			claim.Keep() // the answer is what is to be recorded, not the error's text
		}
		if isOK(got.Status) {
			return answer{status: got.Status}, result(got), nil
		}
		// What is done must be answered as done, or it is delivered for ever.
		done := notRun{status: e.policy.OK}
		return answer{status: done.status, notRun: done}, result(e.accepted()), nil
	case idempotency.EndByReturn:
		if err == nil && isOK(got.Status) {
			return answer{status: got.Status}, result(got), nil
		}
	}
	if err == nil {
		err = errReleased
	}
	if isOK(got.Status) {
		// What is not done must not be answered as done, or nobody delivers it again.
		later := notRun{http.StatusServiceUnavailable, response.MaxRetry}
		return answer{status: later.status, notRun: later}, idempotency.Result{}, err
	}
	return answer{status: got.Status}, idempotency.Result{}, err
}

// accepted is the recorded form of the answer that the provider takes for
// success.
func (e *endpointOf) accepted() response.Recorded {
	got := response.Recorded{Status: e.policy.OK, Body: []byte(e.policy.OKBody), Whole: true}
	if e.policy.OKBody != "" {
		got.Changes = []response.Change{{Name: "Content-Type", Values: []string{"text/plain; charset=utf-8"}, How: response.Set}}
	}
	return got
}

// result is the result that records got. An answer whose body was too large is
// kept as its status: that is what a provider looks at.
func result(got response.Recorded) idempotency.Result {
	return idempotency.Result{Codec: response.Codec, Data: got.Encode()}
}

// digestOf returns the digest of the key that ctx has the claim to.
func digestOf(ctx context.Context) string {
	claim, ok := idempotency.ClaimFrom(ctx)
	if !ok {
		return ""
	}
	d, err := claim.Key().Digest()
	if err != nil {
		return ""
	}
	return d.String()
}

// lease is how often an overrun is told.
func (e *endpointOf) lease() time.Duration {
	if e.o.Lease > 0 {
		return e.o.Lease
	}
	return 30 * time.Second
}

// observe tells the observer, if there is one.
func (e *endpointOf) observe(ctx context.Context, ev observe.Event) {
	if e.o.Observer != nil {
		ev.Time, ev.Digested = time.Now(), ev.Key != ""
		e.o.Observer.Observe(ctx, ev)
	}
}
