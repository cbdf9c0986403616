// Package shopifyhook verifies Shopify's webhooks. It does not call Shopify.
//
//	shopify, err := shopifyhook.New(webhook.Secrets{os.Getenv("SHOPIFY_CLIENT_SECRET")}, shopifyhook.Options{})
//
// # What is signed
//
// HMAC-SHA256 over the whole body, in base64, in the header X-Shopify-Hmac-Sha256
// (shopify.dev/docs/apps/build/webhooks). The key is the app's client secret, for
// all shops that have the app; for webhooks that a merchant made in the admin it is
// the one that is shown there. After the client secret was rotated Shopify may sign
// with the old one for up to an hour: give New both.
//
// Nothing else is signed: not the webhook's or the event's id, not the topic, not
// the shop, and no time. So Event.IDSigned is false, and Event.Tenant, Event.Type
// and Event.Time are what headers say. Where a client secret is one shop's alone,
// the signature proves the shop.
//
// # What a captured delivery can do
//
// Whoever has one can send its body again, at any time:
//
//   - under its own id it gets the recorded answer for Once's retention, and runs
//     again after it;
//   - under a fresh id it runs again;
//   - as from another shop of the same app, or under another topic, the handler
//     gets it as that shop's or that topic's.
//
// webhook.Options.BindBody holds each body that has come to the id and shop that it
// came with, and so stops a body under a fresh id or from another shop while it is
// kept; a longer Retention keeps it longer. Two genuine events of the same bytes
// are then refused: that happens where a subscription's include_fields leave out
// what changes, such as updated_at, and with two subscriptions to one topic at one
// endpoint. The topic is not bound.
//
// Where the body names its shop, as those of shop/update, app/uninstalled and the
// three compliance topics do, it must be the shop in the header; else the delivery
// is refused as forged.
//
// # What is one event
//
// X-Shopify-Webhook-Id is one for each event and subscription, and the same in
// each attempt. X-Shopify-Event-Id is one for what a merchant did, in all
// subscriptions and topics that tell of it. Options.ID chooses.
//
// # Answers
//
// Shopify waits 5 s, delivers 8 times more in 4 hours, and after 8 failures one
// after the other deletes a subscription that was made with the Admin API. A 409
// counts. A duplicate therefore waits for the run that is under way, for at most
// half of the 5 s. A wrong signature is answered with 401, as its automated checks
// demand; they send one to each endpoint, so nothing before Once may answer
// otherwise, such as a router that asks for the topic.
package shopifyhook
