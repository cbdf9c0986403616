// Package adyenhook verifies Adyen's webhooks: standard ones, whose items are
// signed one by one within the body, and those of its platforms and of the
// Management API, whose body is signed in a header. It never calls Adyen.
//
// # What is signed
//
// In a standard webhook (the form Items), HMAC-SHA256 over eight fields of each
// item and nothing else: pspReference, originalReference, merchantAccountCode,
// merchantReference, the amount's value and currency, eventCode and success
// (docs.adyen.com/development-resources/webhooks/verify-hmac-signatures). The
// signature is the item's additionalData.hmacSignature. All items must have a
// genuine one, or the delivery is refused and none of them is run.
//
// All that a key is made of is among these fields, so Event.IDSigned is true.
// Everything else is not signed: live, eventDate and with it Event.Time, reason,
// operations, paymentMethod, and the whole of additionalData. Whoever has a
// delivery, or can change one on its way, can put anything there. Do not act on
// it; ask Adyen's API where it matters. Adyen sends a user and password, too
// (basic authentication): let a middleware before Once check them.
//
// In the form Header, HMAC-SHA256 over the whole body, in the header
// HmacSignature. Everything in the body is signed.
//
// # What is refused although its signature holds
//
// The eight fields are signed joined with colons, unescaped, and so could be cut
// elsewhere. Only merchantReference, which is the merchant's own, may hold a
// colon: then there is one way to cut. An amount is a whole number, and success
// is true or false.
//
// A field that is there twice is refused, and so is one whose name differs from a
// signed one's in the case of its letters alone: encoding/json, and other readers
// that do not mind the case, would take it for the signed one.
//
// # The event's id
//
// Adyen's events have none. In a standard webhook it is pspReference, eventCode
// and success, with colons between, which is what Adyen's documentation tells to
// compare; the merchant account is the tenant, since a report's pspReference is
// its file's name, and two accounts have the same. Adyen may send an event a
// second time with newer data, told by a later eventDate. It is a duplicate here,
// and gets the first one's answer.
//
// In the form Header it is the SHA-256 of the body, so that a retry with other
// bytes would run again. Options.IDFields names what to go by instead, where your
// kind of webhook has it.
//
// # What a captured delivery can do
//
// Adyen signs no time of sending. Whoever has a delivery can send it again for
// ever, a standard one with other unsigned fields: within Once's retention that
// gets the recorded answer, and after it the event runs again.
//
// # Answers
//
// Adyen delivers in order: while one event fails, those behind it wait, for up to
// 30 days. So a duplicate waits for the run that is under way and gets its answer,
// and what will never succeed should be given up with [webhook.Permanent]. The
// answer to what was handled is 202 without a body, or "[accepted]", which older
// set-ups need: Options.AcceptedBody.
package adyenhook
