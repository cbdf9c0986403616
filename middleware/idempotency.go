package middleware

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/internal/request"
	"github.com/semel-go/semel/internal/response"
)

// Idempotency returns middleware that makes a request take effect once per
// Idempotency-Key and scope, over all processes that share the guard's store,
// and answers its retries with the recorded answer of the handler. It does not
// make a handler's effects one transaction: after a crash between an effect and
// the record of it a retry runs the handler again, with a higher fence.
//
// scope names whom a key belongs to, as tenant or principal: two scopes never
// share a key. It is asked for each request that has a key, after whatever
// authentication stands before. An error is answered with 401 if it matches
// [ErrNoPrincipal], else with 500, and "" is an error; the handler is not
// called. [SharedScope] says that all callers are one.
//
// The handler's context is the claim's: [idempotency.ClaimFrom] finds it there,
// and with it attempt, fence and the means to decide how the request ends. It
// ends with cause idempotency.ErrLost when the claim can no longer be trusted.
// A panic releases the key and goes on. A request that already holds its claim,
// since the middleware stands twice in its way, passes.
//
// Idempotency panics if guard or scope is nil, or if the options, its own or
// together with the guard's, do not fit.
func Idempotency(guard *idempotency.Guard, scope func(*http.Request) (string, error), o IdempotencyOptions) func(http.Handler) http.Handler {
	switch {
	case guard == nil:
		panic("middleware: Idempotency: nil guard")
	case scope == nil:
		panic("middleware: Idempotency: nil scope function")
	}
	o = o.withDefaults()
	err := o.validate()
	if err == nil {
		guard, err = o.guard(guard, max(o.MaxResponse, 0)+response.Overhead)
	}
	if err != nil {
		panic(fmt.Sprintf("middleware: Idempotency: %v", err))
	}
	return func(next http.Handler) http.Handler {
		return &once{guard: guard, scope: scope, o: o, next: next}
	}
}

// once is a handler behind Idempotency.
type once struct {
	guard *idempotency.Guard
	scope func(*http.Request) (string, error)
	o     IdempotencyOptions
	next  http.Handler
}

// ServeHTTP runs the handler, or answers in its place.
func (h *once) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	lines := r.Header[h.o.Header]
	if !slices.Contains(h.o.Methods, r.Method) || len(lines) == 0 && h.o.AllowMissing {
		h.next.ServeHTTP(w, r)
		return
	}
	x := &exchange{once: h, w: w, r: r}
	print, refusal := x.admit(lines)
	if refusal != nil {
		refusal.answer(w, r, h.o.Problem)
		return
	}
	x.run(print)
}

// exchange is one request and its answer.
type exchange struct {
	*once
	w     http.ResponseWriter
	r     *http.Request
	body  []byte
	key   idempotency.Key
	leave func() bool        // ends what Detach undoes; nil without it
	rec   *response.Recorder // nil until the handler is called
}

// admit reads of the request what is needed to know it again: once and before
// anything is claimed, so that neither a handler nor a slow client can change
// what was claimed.
func (x *exchange) admit(lines []string) (print idempotency.Fingerprint, refusal *Problem) {
	refuse := func(code Code, err error) (idempotency.Fingerprint, *Problem) {
		p := newProblem(code, err)
		return idempotency.Fingerprint{}, &p
	}
	id, refused := parseKey(lines)
	if refused != "" {
		return refuse(refused, nil)
	}
	var err error
	switch x.key, err = keyFor(x.r, id, x.scope); {
	case errors.Is(err, ErrNoPrincipal):
		return refuse(CodeNoPrincipal, err)
	case err != nil:
		return refuse(CodeScopeFailed, err)
	}
	switch x.body, err = request.Body(x.r.Body, x.r.ContentLength, x.o.MaxBody, maxTrusted); {
	case errors.Is(err, request.ErrTooLarge):
		return refuse(CodeBodyTooLarge, err)
	case err != nil:
		return refuse(CodeBodyUnreadable, err)
	}
	stand := x.body
	if x.o.Fingerprint != nil {
		if stand, err = x.o.Fingerprint(x.request(x.r.Context()), x.body); err != nil {
			return refuse(CodeBodyUnreadable, err)
		}
	}
	return fingerprint(x.r, stand), nil
}

// request returns the request as the handler gets it.
func (x *exchange) request(ctx context.Context) *http.Request { return restore(ctx, x.r, x.body) }

// run calls the handler, or answers a duplicate.
func (x *exchange) run(print idempotency.Fingerprint) {
	ctx := x.r.Context()
	if x.o.Detach > 0 && ctx.Err() == nil {
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(context.WithoutCancel(ctx))
		defer cancel(nil)
		x.leave = context.AfterFunc(x.r.Context(), func() { cancel(context.Cause(x.r.Context())) })
		defer x.leave()
	}
	out, err := x.guard.Run(ctx, x.key, idempotency.RunOptions{Fingerprint: print}, x.execute)
	switch {
	case x.rec != nil:
		// What became of the record is the observer's news, and the client's
		// that it has gone is nobody's.
		_ = x.rec.Send()
	case errors.Is(err, idempotency.ErrReentrant):
		handled := x.request(x.r.Context())
		defer giveBack(x.r, handled)
		x.next.ServeHTTP(x.w, handled)
	default:
		x.answer(out, err)
	}
}

// execute calls the handler under the claim.
func (x *exchange) execute(ctx context.Context) (idempotency.Result, error) {
	if x.leave != nil {
		if !x.leave() {
			return idempotency.Result{}, errLeft
		}
		// The client's leaving ends nothing from here on. The claim's does.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, x.o.Detach)
		defer cancel()
	}
	x.rec = response.NewRecorder(x.w, x.r, response.Options{
		Limit: max(x.o.MaxResponse, 1), HoldBack: x.o.CommitFirst, Drop: x.o.DropHeaders,
	})
	handled, returned := x.request(ctx), false
	defer func() {
		giveBack(x.r, handled)
		if !returned { // a panic or Goexit goes on
			x.rec.Abandon()
		}
	}()
	x.next.ServeHTTP(x.rec, handled)
	returned = true
	return x.outcome(ctx, x.rec.Finish())
}

// errLeft says that the client left before its handler was called.
var errLeft = errors.New("middleware: the client left before the handler was called")
