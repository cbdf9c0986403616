package webhook

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/semel-go/semel/idempotency"
)

// handling is one call of a handler, as it stands in the handler's context.
type handling struct {
	event  *Event // nil if the delivery was passed through
	policy *Policy
	reply  string // to what was passed through

	mu  sync.Mutex
	err error // what the function of Handle returned
}

type handlingKey struct{}

func (h *handling) settle(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err = err
}

func (h *handling) outcome() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// permanentError marks an error that no redelivery will mend.
type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }
func (e *permanentError) Unwrap() error { return e.err }

// Permanent marks err as one that will never pass: the event is recorded as done
// and answered with 2xx, so that the provider gives up, too, and the observer is
// told of it. Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

// isPermanent reports whether Permanent, or idempotency.Final, marked err.
func isPermanent(err error) bool {
	if _, ok := errors.AsType[*permanentError](err); ok {
		return true
	}
	_, ok := errors.AsType[*idempotency.FinalError](err)
	return ok
}

// Handle makes a handler of a function that is called once per event. It must
// stand behind [Once], which verifies the delivery; anywhere else it answers 500
// and calls nothing. What fn returns is answered so, and no answer holds the
// error's text:
//
//	nil                             the provider's 2xx, recorded
//	Permanent(err)                  the same; the observer is told
//	idempotency.RetryAfter(d, err)  503 with Retry-After; not run again before
//	idempotency.Unknown(err)        503; the event is held, see idempotency.Unknown
//	another error                   500; the redelivery runs it again
//
// A delivery that was passed through is answered with the provider's 2xx and the
// Reply that its verifier asked for, and fn is not called.
func Handle(fn func(ctx context.Context, e Event) error) http.Handler {
	if fn == nil {
		panic("webhook: Handle: nil function")
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, ok := r.Context().Value(handlingKey{}).(*handling)
		if !ok {
			plain(w, http.StatusInternalServerError, "webhook not verified\n")
			return
		}
		if h.event == nil {
			h.policy.reply(w, cmp.Or(h.reply, h.policy.OKBody))
			return
		}
		err := fn(r.Context(), *h.event)
		h.settle(err)
		d, later := idempotency.RetryDelay(err)
		switch {
		case err == nil, isPermanent(err):
			h.policy.accept(w)
		case later:
			busy(w, http.StatusServiceUnavailable, d)
		case idempotency.IsUnknown(err):
			plain(w, http.StatusServiceUnavailable, laterText)
		default:
			plain(w, http.StatusInternalServerError, "webhook failed\n")
		}
	})
}

// accept writes the answer that the provider takes for success.
func (p *Policy) accept(w http.ResponseWriter) { p.reply(w, p.OKBody) }

// reply is accept with another text.
func (p *Policy) reply(w http.ResponseWriter, text string) {
	if text != "" {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	}
	w.WriteHeader(p.OK)
	_, _ = w.Write([]byte(text))
}

// ByResource is the key of an event's resource, for middleware.Serialize: events
// of one invoice are handled one at a time. An event that names no resource is
// its own. It belongs behind Once.
//
// Error: if there is no event in the request's context.
func ByResource(r *http.Request) (string, error) {
	e, ok := EventFrom(r.Context())
	if !ok {
		return "", errNoEvent
	}
	if e.Resource == "" {
		return idempotency.Scope("event", e.Provider, e.Tenant, e.ID), nil
	}
	return idempotency.Scope("resource", e.Provider, e.Tenant, e.Resource), nil
}
