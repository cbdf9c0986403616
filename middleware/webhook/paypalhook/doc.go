// Package paypalhook verifies PayPal's webhooks by itself, with the certificate
// that PayPal signs them with. It does not ask PayPal about each delivery, unless
// Options.Reread makes it.
//
//	paypal, err := paypalhook.New(os.Getenv("PAYPAL_WEBHOOK_ID"), paypalhook.Options{})
//
// # What is signed
//
// RSA with SHA-256 over the transmission's id and time, the webhook's id, and the
// CRC-32 of the body (developer.paypal.com/api/rest/webhooks/rest). The webhook's
// id in it is what keeps deliveries to other merchants from being sent here. Not
// signed are the certificate's URL, which is why it is held to a policy, and
// every other header.
//
// # A CRC-32 does not authenticate a body
//
// Whoever has seen one delivery can make, in milliseconds, another body that has
// the same CRC-32, and the genuine headers verify it. Three things stand against
// that:
//
//   - Each delivery carries a [webhook.Binding] of what is signed to the SHA-256
//     of the body, for as long as the transmission is believed. A second body under
//     one signature is refused as forged. So the store must be able to bind.
//   - A transmission is believed for Options.MaxAge. After that it is refused,
//     genuine or not.
//   - Options.Reread reads the event from PayPal's API and compares.
//
// The limit: a forged body that arrives before the genuine one is taken for
// genuine, and the genuine one is then refused. Who can do that stands between
// PayPal and the endpoint, behind its TLS; only Reread stops them. A handler that
// moves money should use it, or ask PayPal's API for the payment itself and
// believe nothing but the ids in the event.
//
// Event.IDSigned is true as far as a checksum can make it so: with the binding,
// a captured delivery cannot be sent again under another id.
//
// # What a captured delivery can do
//
// Whoever has one can send it again, unchanged, for Options.MaxAge, and gets the
// recorded answer. The age is in days, since PayPal tries for three, and does not
// document whether an attempt is signed anew. If it is, the same transmission id
// under a new signature is as good as the first.
//
// # The certificate
//
// Its URL comes with the delivery, so that it is an attacker's until the
// signature holds. Nothing is fetched unless the URL is https, of one of two
// hosts for the environment, and plainly below one path there; no option changes
// that. The certificate must chain to Options.Roots and be made out to the exact
// name of the environment's signer. It is fetched once and kept until it ends; a
// URL that failed is not tried again for a few seconds.
//
// # The simulator
//
// PayPal's webhooks simulator signs its made-up events for the webhook id
// WEBHOOK_ID, and sends them to any URL that anybody with an account enters. New
// takes that id in the Sandbox only. Tests are better made with
// webhooktest.NewPayPal.
package paypalhook
