package middleware

import "net/http"

// Code names a [Problem] for programs. It is stable and fit for a metric's
// label.
type Code string

// The codes of a [Problem], with their statuses and what they ask of the client.
const (
	// CodeKeyMissing, 400: send the request with a key.
	CodeKeyMissing Code = "key_missing"
	// CodeKeyMalformed, 400: the key's header is empty, sent more than once, or
	// not what a key may be. Mend the client.
	CodeKeyMalformed Code = "key_malformed"
	// CodeBodyUnreadable, 400: the body broke off or is not what it says.
	// Nothing was run; send it again with the same key.
	CodeBodyUnreadable Code = "body_unreadable"
	// CodeBodyTooLarge, 413: nothing was run.
	CodeBodyTooLarge Code = "body_too_large"
	// CodeNoPrincipal, 401: authenticate.
	CodeNoPrincipal Code = "no_principal"
	// CodeScopeFailed, 500: the server could not tell whose key it is. Nothing
	// was run; try again with the same key.
	CodeScopeFailed Code = "scope_failed"
	// CodeKeyMismatch, 422: the key was used for another request. Mend the
	// client; a new request needs a new key.
	CodeKeyMismatch Code = "key_mismatch"
	// CodeInProgress, 409 with Retry-After: the first request is still being
	// run. Try again with the same key.
	CodeInProgress Code = "in_progress"
	// CodeOutcomeUnknown, 409: the request was run and the server does not know
	// whether it took effect. Neither repeat it nor use a new key: ask.
	CodeOutcomeUnknown Code = "outcome_unknown"
	// CodeResultNotRetained, 409: the request was completed, and its answer
	// cannot be repeated. Do not use a new key: look the result up.
	CodeResultNotRetained Code = "result_not_retained"
	// CodeEncodingNotAcceptable, 406: the request was completed, and its answer
	// is in an encoding that this one does not accept.
	CodeEncodingNotAcceptable Code = "encoding_not_acceptable"
	// CodeReplayRefused, 403: the request was completed, and whoever asks may
	// not see the answer.
	CodeReplayRefused Code = "replay_refused"
	// CodeStoreUnavailable, 503 with Retry-After: nothing was run; try again
	// with the same key.
	CodeStoreUnavailable Code = "store_unavailable"
	// CodeResourceKeyMissing, 400: the request does not say which resource it
	// is about.
	CodeResourceKeyMissing Code = "resource_key_missing"
	// CodeResourceBusy, 409 with Retry-After: another request works on the
	// resource. Try again with the same key.
	CodeResourceBusy Code = "resource_busy"
)

// texts returns what is the same for all problems of one code. Titles are those
// of draft-ietf-httpapi-idempotency-key-header, section 2.7, where it has them.
func (c Code) texts() (status int, title, detail string) {
	switch c {
	case CodeKeyMissing:
		return http.StatusBadRequest, "Idempotency-Key is missing",
			"This operation takes effect once per key: send a key of your own, and the same one when you repeat the request."
	case CodeKeyMalformed:
		return http.StatusBadRequest, "Idempotency-Key is malformed",
			"A key is sent in one header line and has 1 to 255 visible ASCII characters, quoted or bare."
	case CodeBodyUnreadable:
		return http.StatusBadRequest, "The request body cannot be read",
			"The request was not run. Send it whole, with the same Idempotency-Key."
	case CodeBodyTooLarge:
		return http.StatusRequestEntityTooLarge, "The request body is too large",
			"The request was not run."
	case CodeNoPrincipal:
		return http.StatusUnauthorized, "Authentication is required",
			"Keys belong to who uses them, and the request does not say who that is."
	case CodeScopeFailed:
		return http.StatusInternalServerError, "The owner of the key cannot be told",
			"The request was not run. It may be sent again with the same Idempotency-Key."
	case CodeKeyMismatch:
		return http.StatusUnprocessableEntity, "Idempotency-Key is already used",
			"This Idempotency-Key was used for a request with another method, target or content. A different request needs a different key."
	case CodeInProgress:
		return http.StatusConflict, "A request is outstanding for this Idempotency-Key",
			"The first request with this Idempotency-Key is still being processed. Repeat the request with the same key later."
	case CodeOutcomeUnknown:
		return http.StatusConflict, "The outcome of the request is unknown",
			"A request with this Idempotency-Key was processed, and it is not known whether it took effect. Do not send it with another key."
	case CodeResultNotRetained:
		return http.StatusConflict, "The request was completed, its answer was not retained",
			"The request with this Idempotency-Key was completed and will not run again. Do not send it with another key: look its result up."
	case CodeEncodingNotAcceptable:
		return http.StatusNotAcceptable, "The recorded answer has an encoding that is not accepted",
			"The request with this Idempotency-Key was completed. Repeat it with the Accept-Encoding of the first request to see its answer."
	case CodeReplayRefused:
		return http.StatusForbidden, "The recorded answer may not be shown",
			"The request with this Idempotency-Key was completed, and this request is not permitted to see its answer."
	case CodeStoreUnavailable:
		return http.StatusServiceUnavailable, "The request cannot be run safely at the moment",
			"The request was not run. Repeat it as it is later."
	case CodeResourceKeyMissing:
		return http.StatusBadRequest, "The resource is missing",
			"The request does not say which resource it is about. It was not run."
	case CodeResourceBusy:
		return http.StatusConflict, "The resource is busy",
			"Another request works on the same resource. Repeat this one as it is later."
	}
	return http.StatusInternalServerError, "Internal error", ""
}
