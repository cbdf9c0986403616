package middleware

import "net/http"

// DefaultStatuses stores what is the outcome of the request and stays so: 2xx
// and 3xx, and 400, 402, 410, 422 and 451. With any other status the handler
// refused before it had an effect, and a retry may find things changed; one
// that has had its effect says so ([idempotency.Claim.Keep]).
func DefaultStatuses(status int, _ http.Header) bool {
	switch status {
	case http.StatusBadRequest, http.StatusPaymentRequired, http.StatusGone,
		http.StatusUnprocessableEntity, http.StatusUnavailableForLegalReasons:
		return true
	}
	return status >= 200 && status <= 399
}

// StripeStatuses stores every answer, a 500 too, except 400, 401, 409 and 429,
// which Stripe gives before a request is executed and therefore does not keep
// (https://docs.stripe.com/error-low-level). It is for handlers that cannot
// tell whether they failed before or after their effect, and whose callers know
// that a 500 comes back until they take another key.
func StripeStatuses(status int, _ http.Header) bool {
	switch status {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusConflict, http.StatusTooManyRequests:
		return false
	}
	return true
}

// SuccessOnly stores 2xx.
func SuccessOnly(status int, _ http.Header) bool { return status >= 200 && status <= 299 }
