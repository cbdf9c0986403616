// Package squarehook verifies Square's webhooks. It never calls Square, and it
// does not look at the older signature, x-square-signature, which is an HMAC
// with SHA-1 and still comes along.
//
// # What is signed
//
// HMAC-SHA256 over the notification URL and the whole body, one after the other,
// with the subscription's signature key
// (developer.squareup.com/docs/webhooks/step3validate). The URL is the one that
// was entered at Square, to the last slash. It is given to New and never rebuilt
// from the request: behind a proxy the request shows another, and whoever sends
// it would choose what was signed.
//
// All that a key is made of, the event's id and the seller, is in the body, so
// Event.IDSigned is true. Not signed are Square's other headers: the environment,
// and the number of the retry, which Event.Attempt holds for logs.
//
// An empty body is refused whatever its signature: Square sends none, and
// libraries of its own have passed it unverified.
//
// # What a captured delivery can do
//
// Square signs no time of sending. Whoever has a delivery can send it again,
// unchanged, for ever: within Once's retention that gets the recorded answer, and
// after it the event runs again. Options.MaxAge closes this. It goes by
// created_at, which is in the signed body and the same in each attempt; with a
// MaxAge shorter than the retention, what was captured never runs again.
//
// # Tenants
//
// Event.Tenant is the merchant_id, the seller, with the tenant of a
// [webhook.SecretFunc] before it. Two sellers never share a key.
//
// Event.Resource is data.id, the id of what the event is about.
package squarehook
