package webhook

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/internal/response"
)

// The bodies of answers of our own. They are constant: whoever forges deliveries
// learns nothing, and a provider shows them to people.
const (
	refusedText = "webhook refused\n"
	laterText   = "webhook: try again later\n"
)

// plain answers with a status and a constant text.
func plain(w http.ResponseWriter, status int, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text))
}

// busy answers that the provider shall come again after d.
func busy(w http.ResponseWriter, status int, d time.Duration) {
	w.Header().Set("Retry-After", response.RetryAfter(d))
	plain(w, status, laterText)
}

// unread answers a delivery whose body could not be read.
func (e *endpointOf) unread(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, errTooLarge):
		w.Header().Set("Connection", "close") // the rest of the body is not worth reading
		plain(w, http.StatusRequestEntityTooLarge, "webhook too large\n")
	case errors.Is(err, errEncoding):
		plain(w, http.StatusUnsupportedMediaType, "webhook with a Content-Encoding\n")
	default:
		plain(w, http.StatusBadRequest, "webhook not readable\n")
	}
}

// unverified answers a delivery that was not verified.
func (e *endpointOf) unverified(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, ErrRefused):
		plain(w, http.StatusUnauthorized, refusedText)
	case errors.Is(err, ErrNoEvent):
		plain(w, http.StatusBadRequest, "webhook without an event\n")
	default:
		busy(w, http.StatusServiceUnavailable, response.MinRetry)
	}
}

// notRun is what a run is answered with that did not reach the handler: a
// status, and when to come again.
type notRun struct {
	status int
	after  time.Duration
}

// because returns the answer for an error of Guard.Run.
func (e *endpointOf) because(err error) notRun {
	var busy *idempotency.InProgressError
	switch {
	case errors.As(err, &busy):
		return notRun{http.StatusConflict, response.SoonAfter(busy.RetryAfter)}
	case errors.Is(err, idempotency.ErrUnavailable), errors.Is(err, idempotency.ErrClosed):
		return notRun{http.StatusServiceUnavailable, response.MinRetry}
	case errors.Is(err, idempotency.ErrOutcomeUnknown):
		return notRun{http.StatusServiceUnavailable, response.MaxRetry}
	case errors.Is(err, idempotency.ErrResultUnavailable), isPermanent(err):
		return notRun{status: e.policy.OK} // it is done, and what it answered was 2xx
	}
	return notRun{status: http.StatusInternalServerError}
}

// send answers with n.
func (e *endpointOf) send(w http.ResponseWriter, n notRun) {
	switch {
	case isOK(n.status):
		e.policy.accept(w)
	case n.after > 0:
		busy(w, n.status, n.after)
	default:
		plain(w, n.status, "webhook failed\n")
	}
}

// isOK reports whether a provider takes status for success.
func isOK(status int) bool { return status >= 200 && status <= 299 }
