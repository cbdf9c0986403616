package observe

// What package webhook reports.
const (
	// DeliveryRefused: a delivery was not verified. Err matches
	// webhook.ErrRefused and has the reason, or says why it could not be
	// verified just now.
	DeliveryRefused Kind = "delivery_refused"
	// PassedThrough: a genuine delivery that is no event went to the handler
	// without a claim.
	PassedThrough Kind = "passed_through"
	// Refused: a handler gave an event up for good. Err says why. It is
	// recorded as done.
	Refused Kind = "refused"
	// Overrun: a handler is still running though its time is over. It is told
	// once per lease; Held is how long it has been running.
	Overrun Kind = "overrun"
)
