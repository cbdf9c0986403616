// Package standardhook verifies webhooks in the format of Standard Webhooks and
// of Svix, which many providers send. It knows the format and not the providers:
// what is in a body beside its type and timestamp is the handler's to read.
//
// # What is signed
//
// "id.timestamp.body", with HMAC-SHA256 (v1) or ed25519 (v1a), any number of
// signatures of either kind in one header, one of which has to match. The id is
// signed, the same in each attempt, and what the key is made of, so that
// Event.IDSigned is true. Of the body, which may be anything, nothing has to be
// read for that. Not signed are which family of headers is used, signatures of
// other secrets and versions, which never count, and every other header.
//
// (github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md.)
//
// # What a captured delivery can do
//
// Whoever has one can send it again, unchanged, for Options.Tolerance, and gets
// the recorded answer; after that it is refused. Senders sign each attempt anew.
//
// An id that holds a full stop is refused, as the specification demands: else
// what is signed for one id and body could be cut into another id and body.
//
// # Headers
//
// Names are webhook-id, webhook-timestamp and webhook-signature, or svix-id and
// so on. Where both are sent they must agree: a handler, a proxy and a log would
// each read another.
package standardhook
