// Package paddlehook verifies the webhooks of Paddle Billing. It never calls
// Paddle. Those of Paddle Classic, with p_signature, are signed in another way
// and refused.
//
// # What is signed
//
// HMAC-SHA256 over the timestamp, a colon and the whole body, with the secret of
// the notification destination
// (developer.paddle.com/webhooks/signature-verification). All that a key is made
// of is in the body, so Event.IDSigned is true. Not signed are the order of the
// parts of Paddle-Signature, the letter case of its hex, parts other than ts and
// h1, which never count, and every other header.
//
// While a secret is being rotated the header has an h1 for each; any one may
// match. Paddle's libraries take one alone, or look at the last.
//
// # The event's id
//
// It is the body's event_id. The notification_id beside it names the delivery to
// one destination, and is another when somebody has Paddle replay the event: with
// it, a replay would run.
//
// # What a captured delivery can do
//
// Whoever has one can send it again, unchanged, for Options.MaxAge, and gets the
// recorded answer, for Once keeps it longer. After that it is refused.
//
// It is not documented whether a retry is signed anew, with a time of its own,
// and receivers have reported that it is not. Paddle's own library for Node
// allows 5 seconds, with which all of those retries would be lost. MaxAge is
// therefore as long as Paddle retries, and some more; it is the event's id, not
// the signature's age, that keeps an event from running twice. A time in the
// future is believed for 5 minutes only.
//
// # Order
//
// Paddle delivers in no order. Compare occurred_at, which is Event.Time, with
// what is known of the Event.Resource.
package paddlehook
