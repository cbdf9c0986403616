// Package stripehook verifies Stripe's webhooks: snapshot events, thin events of
// API v2, and those of connected accounts. It neither calls Stripe nor compares
// API versions, which fails whenever the account's and the library's differ.
//
// # What is signed
//
// HMAC-SHA256 over the timestamp and the whole body, with the endpoint's secret
// (docs.stripe.com/webhooks/signature). All that a key is made of, the event's
// id and its account, is in the body, so Event.IDSigned is true. Not signed are
// the header's order, the letter case of its hex, signatures of other secrets
// and schemes such as v0, which never count, and every other header.
//
// # What a captured delivery can do
//
// Whoever has one can send it again, unchanged, for Options.Tolerance, and gets
// the recorded answer. After that it is refused. Stripe signs each attempt anew,
// so that a retry or a resend is never too old.
//
// The tolerance counts both ways, unlike in stripe-go, which believes any time
// in the future. A clock that was set back would make every old capture good
// again, and so it must show: as refusals for being expired.
//
// # Tenants
//
// Event.Tenant is the top-level account of a Connect event, or the context of
// one of API v2, with the tenant of a [webhook.SecretFunc] before it. Two
// accounts never share a key.
//
// # Two events for one change
//
// Stripe documents that it sometimes sends two Event objects for one change, and
// that the object's id with the type tells them apart from two changes. That
// loses events where a type comes more than once to one object, so it is done
// for the types in Options.OncePerObject only.
package stripehook
