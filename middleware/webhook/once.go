package webhook

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/internal/response"
	"github.com/semel-go/semel/observe"
)

// Once returns middleware that verifies each delivery with verifier and runs the
// handler once per event. endpoint names the consumer and is part of the key:
// two routes that must both act on an event have two names, all instances of one
// route have one. It never changes, or what is redelivered runs again.
//
// The handler gets the event in its context ([EventFrom]) and the event's bytes
// as the request's body; [Handle] makes one of a function. Its context is not
// the request's, see Options.MaxRun. Its answer is held back until it is
// recorded: at most 64 KiB of the body are kept and sent, and it can neither
// stream nor take the connection over. A delivery that already has the event's
// claim, since Once stands twice in its way, passes.
//
// It is called in a route table, and so it panics on a programmer's mistake: a
// nil guard or verifier, an empty endpoint, an option out of its range, or a
// store that cannot bind where the verifier or Options.BindBody needs it.
func Once(guard *idempotency.Guard, endpoint string, verifier Verifier, o Options) func(http.Handler) http.Handler {
	switch {
	case guard == nil:
		panic("webhook: Once: nil guard")
	case endpoint == "":
		panic("webhook: Once: empty endpoint")
	case verifier == nil:
		panic("webhook: Once: nil verifier")
	}
	var p Policy
	if a, ok := verifier.(Adviser); ok {
		p = a.Policy()
	}
	if err := o.validate(p); err != nil {
		panic("webhook: Once: " + err.Error())
	}
	if p.OK == 0 {
		p.OK = http.StatusOK
	}
	if (p.Binds || o.BindBody) && !guard.CanBind() {
		panic("webhook: Once: " + verifier.Provider() + " needs a store that can bind")
	}
	o = o.withPolicy(p)
	guard = guard.With(idempotency.Options{
		Lease: o.Lease, Retention: o.Retention, Wait: o.Wait, MaxResult: maxAnswer + response.Overhead,
	})
	if err := guard.Err(); err != nil {
		panic("webhook: Once: " + err.Error())
	}
	e := &endpointOf{guard: guard, name: endpoint, verifier: verifier, policy: p, o: o}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { e.serve(next, w, r) })
	}
}

// endpointOf is one consumer of one provider's events.
type endpointOf struct {
	guard    *idempotency.Guard
	name     string
	verifier Verifier
	policy   Policy
	o        Options
}

// serve takes a delivery through all its stages.
func (e *endpointOf) serve(next http.Handler, w http.ResponseWriter, r *http.Request) {
	body, err := readBody(r, e.o.MaxBody, e.o.Decompress)
	if err != nil {
		e.tell(r.Context(), observe.DeliveryRefused, err)
		e.unread(w, err)
		return
	}
	d, err := e.verifier.Verify(r.Context(), r.Header, body)
	if err == nil {
		err = check(d)
	}
	if err == nil {
		err = e.bind(r.Context(), d, body)
	}
	if err != nil {
		e.tell(r.Context(), observe.DeliveryRefused, hint(err, r, body))
		e.unverified(w, err)
		return
	}
	if d.Passthrough {
		e.tell(r.Context(), observe.PassedThrough, nil)
		ctx := context.WithValue(r.Context(), handlingKey{}, &handling{policy: &e.policy, reply: d.Reply})
		next.ServeHTTP(w, withBody(r.WithContext(ctx), body))
		return
	}
	e.events(next, w, r, d.Events)
}

// check returns why d cannot be handled: a verifier that finds nothing to claim
// must not lead to a run without a claim.
func check(d Delivery) error {
	if d.Passthrough != (len(d.Events) == 0) {
		return ErrNoEvent
	}
	for _, ev := range d.Events {
		if ev.ID == "" {
			return fmt.Errorf("%w: an event has no id", ErrNoEvent)
		}
	}
	return nil
}

// bind enforces the bindings of a delivery, and those of its body.
func (e *endpointOf) bind(ctx context.Context, d Delivery, body []byte) error {
	bindings, of := d.Bindings, idempotency.Scope("webhook-binding", e.verifier.Provider(), e.name)
	if e.o.BindBody && !d.Passthrough {
		sum := sha256.Sum256(body)
		var ids [][]byte
		for _, ev := range d.Events {
			ids = append(ids, []byte(ev.Tenant), []byte(ev.ID))
		}
		bindings = append(bindings[:len(bindings):len(bindings)], Binding{
			ID: idempotency.Scope("body", string(sum[:])), Digest: idempotency.FingerprintOf(ids...), For: e.o.Retention,
		})
	}
	for _, b := range bindings {
		same, err := e.guard.Bind(ctx, idempotency.Key{Scope: of, ID: b.ID}, b.Digest, b.For)
		switch {
		case err != nil:
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		case !same:
			return Refuse(Forged, errors.New("what was sent before under the same id was something else"))
		}
	}
	return nil
}

// hint adds to a signature that does not match what is the usual reason for it
// if the sender is genuine.
func hint(err error, r *http.Request, body []byte) error {
	var refused *RefusedError
	if !errors.As(err, &refused) || refused.Reason != NoMatch {
		return err
	}
	if r.ContentLength < 0 || r.ContentLength == int64(len(body)) || r.Header.Get("Content-Encoding") != "" {
		return err
	}
	return fmt.Errorf("%w (the body has %d bytes and Content-Length says %d: middleware before Once has changed it)",
		err, len(body), r.ContentLength)
}

// tell tells the observer what has no key.
func (e *endpointOf) tell(ctx context.Context, kind observe.Kind, err error) {
	e.observe(ctx, observe.Event{Kind: kind, Err: err})
}
