package webhook

import (
	"context"
	"net/http"
	"time"
)

// Verifier tells genuine deliveries of one provider from all others, and what
// they hold. It is usable without HTTP, and it must not write anything: an
// unverified delivery leaves no trace. Its methods are safe for concurrent use.
type Verifier interface {
	// Provider is the provider's name in lower case, as "stripe". It is part
	// of every key, so it never changes.
	Provider() string

	// Verify checks the signature of body, which is the request's body as it
	// came, before it looks at anything in it. It keeps neither header nor
	// body, but the events it returns may share body's memory.
	//
	// Errors: a *[RefusedError] if the delivery is not genuine, or cannot be
	// told to be; [ErrNoEvent] if it is genuine and names no event, or one
	// without an id; anything else, [ErrUnavailable] at best, if what Verify
	// needed could not be had just now, so that the provider shall try again.
	Verify(ctx context.Context, header http.Header, body []byte) (Delivery, error)
}

// Adviser is implemented by verifiers that know how their provider wants to be
// answered. Without it Once goes by the zero Policy.
type Adviser interface {
	Policy() Policy
}

// Policy is what a provider's documentation makes advisable. Every field can be
// overridden in the Options of Once, where the defaults of the zero Policy
// stand, too.
type Policy struct {
	// Wait is how long a duplicate of a delivery that is being handled waits
	// for it: for providers that do not come back, or punish refusals.
	// Zero: it is refused with 409 and comes again.
	Wait time.Duration
	// Patience is how long the provider waits for an answer; no duplicate
	// waits for more than half of it. Zero: not published.
	Patience time.Duration
	// Retention is how long an event's record must be kept to outlive the
	// provider's retries and the resends that people ask for. Zero: 30 days.
	Retention time.Duration
	// MaxBody is the largest body in bytes that the provider sends.
	// Zero: 1 MiB.
	MaxBody int64
	// Binds says that deliveries carry Bindings: the store must be able to.
	Binds bool
	// OK is the status of an event that was handled without the handler
	// saying otherwise, from 200 to 299. Zero: 200.
	OK int
	// OKBody is the body that goes with it. Default: empty.
	OKBody string
}

// Delivery is what a verified request holds.
type Delivery struct {
	// Events are in the order of the body. There is at least one, unless
	// Passthrough is set.
	Events []Event
	// Bindings are enforced after the verification and before any claim.
	Bindings []Binding
	// Passthrough says that the request is genuine and is no event, as a
	// challenge that the endpoint must answer: the handler runs without a
	// claim. Events and Bindings are empty.
	Passthrough bool
	// Reply is what Handle answers such a request with, as the challenge that
	// it holds. A handler of your own answers it itself.
	// Default: empty.
	Reply string
}

// Binding says that an id goes with one digest. The first delivery with the id
// binds it; a later one with another digest is refused as [Forged].
type Binding struct {
	// ID is unique within the provider. It is digested before it is stored.
	ID string
	// Digest is what ID goes with, usually a SHA-256.
	Digest [32]byte
	// For is how long the binding holds, at least as long as a delivery with
	// ID would be believed.
	For time.Duration
}
