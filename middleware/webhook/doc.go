// Package webhook runs a handler once per event of a provider: it verifies each
// delivery, claims the event, runs the handler, and records its answer, which
// later deliveries of the event get. It does not know any provider: those are in
// the packages below, one each, and implement [Verifier].
//
//	stripe, err := stripehook.New(webhook.Secrets{os.Getenv("STRIPE_WEBHOOK_SECRET")}, stripehook.Options{})
//
//	r.With(webhook.Once(guard, "stripe-billing", stripe, webhook.Options{})).
//		Method("POST", "/webhooks/stripe", webhook.Handle(func(ctx context.Context, e webhook.Event) error { ... }))
//
// # What happens to a delivery
//
//	read      the body, raw and whole, up to a limit                413
//	verify    the signature over it, before anything is parsed      401, always the same answer
//	bind      ids that must go with one digest                      401
//	claim     the event's key                                       409 or wait; 503 if the store is down
//	run       the handler, under the claim                          its own status
//	record    a 2xx, for the retention; release the key otherwise
//	answer
//
// A delivery that is not genuine never writes to the store. The key is the
// provider, the endpoint's name, the tenant and the event's id, each after its
// length. The endpoint's name stands for the consumer: a provider sends one
// event to every endpoint that subscribed to it, and each has to act on it.
//
// # Answers
//
// A provider delivers again whatever is not answered with 2xx, so 2xx means
// that the event is done, and nothing else does:
//
//	the handler answers 2xx, or returns nil    2xx, recorded; later deliveries get the same
//	Permanent(err)                             200, recorded; the event is given up
//	idempotency.RetryAfter(d, err)             503 with Retry-After; released, and not run again before
//	idempotency.Unknown(err)                   503; the key is held until a person decides
//	another error, or another status           500, or that status; released
//	a panic                                    goes on; released
//	a duplicate while the first is running     409 with Retry-After, or waits and gets the first's answer
//	a duplicate of what is done                the recorded answer
//
// A handler whose claim says otherwise than its answer, Release or Unknown where
// it wrote 2xx, is answered for with 503.
//
// The answer is recorded before it is sent: a provider that has seen 2xx never
// meets the handler again while the record is kept.
//
// # Time
//
// Providers hang up after a few seconds and deliver again. The handler's context
// is therefore not the request's: it ends after Options.MaxRun, or when the claim
// is lost. A handler that runs on after that keeps its claim as long as it does,
// so that it never runs twice at once.
//
// # Batches
//
// A delivery with several events is handled one event at a time, in the order of
// its body, each with its own claim and record. It is answered with 2xx when all
// of them are done, and otherwise with the first other status. Two claims are
// never held at once, so that two batches cannot block each other.
package webhook
