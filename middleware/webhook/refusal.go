package webhook

import "errors"

// Reason says why a delivery was refused. It goes into events, never into an
// answer: whoever forges deliveries learns nothing from it.
type Reason string

// The reasons of a RefusedError.
const (
	// MissingHeader: a header that the provider always sends is not there.
	MissingHeader Reason = "missing_header"
	// Malformed: a header, or a body whose signature holds, cannot be read.
	Malformed Reason = "malformed"
	// NoMatch: no secret makes the signature that was sent.
	NoMatch Reason = "no_match"
	// Expired: the signature was made too long ago, or in the future.
	Expired Reason = "expired"
	// TooLarge: the body is larger than allowed.
	TooLarge Reason = "too_large"
	// Forged: the signature is genuine and belongs to another body.
	Forged Reason = "forged"
)

// What a delivery is refused for.
var (
	// ErrRefused: the delivery is not genuine. The error is a *[RefusedError].
	ErrRefused = errors.New("webhook: refused")
	// ErrUnavailable: something that the verification needs could not be had:
	// a certificate, a tenant's secrets. The provider shall try again.
	ErrUnavailable = errors.New("webhook: cannot verify now")
	// ErrNoEvent: the delivery is genuine and names no event.
	ErrNoEvent = errors.New("webhook: no event in the delivery")
)

// RefusedError says why a delivery was refused. It matches ErrRefused.
type RefusedError struct {
	Reason Reason
	// Err is the particular, for logs; nil if the reason says it all. It holds
	// neither a secret nor an expected signature.
	Err error
}

// Refuse returns a *RefusedError.
func Refuse(reason Reason, err error) error { return &RefusedError{Reason: reason, Err: err} }

// Error tells the reason.
func (e *RefusedError) Error() string {
	text := ErrRefused.Error() + ": " + string(e.Reason)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Is reports whether target is ErrRefused.
func (e *RefusedError) Is(target error) bool { return target == ErrRefused }

// Unwrap returns Err.
func (e *RefusedError) Unwrap() error { return e.Err }
