// Package hmachook verifies webhooks that are signed with an HMAC in a way of
// the sender's own: a team's in-house services, or a provider that has no
// package here. It takes no signature that leaves the body out.
//
//	v, err := hmachook.New("ledger", webhook.Secrets{secret}, hmachook.Options{
//		Header:          "X-Ledger-Signature",
//		Prefix:          "sha256=",
//		Content:         "{timestamp}.{body}",
//		TimestampHeader: "X-Ledger-Timestamp",
//		IDField:         "event.id",
//		TypeField:       "event.type",
//	})
//
// # What is signed
//
// What Options.Content says, under a secret whose bytes are the HMAC's key as
// they are. Everything else, the headers that are not in it above all, can be
// changed by whoever has a delivery. Content must hold the body; a timestamp
// that is not in it is refused by New, since it would prove nothing.
//
// # What a captured delivery can do
//
// With a timestamp it can be sent again for Options.Tolerance, without one for
// ever: then Once's retention is all that stands against it, and the same
// delivery runs again after it.
//
// An id in the body, or in Content, is signed (Event.IDSigned): what is sent
// again gets the recorded answer. An id in a header that is not in Content is
// not. A captured body can be sent under fresh ids, and each of them runs, unless
// webhook.Options.BindBody holds every body to its first id. A type in a header
// is not signed either: do not decide by it what the body could tell.
//
// # Cutting
//
// Parts of the content that stand side by side could be cut elsewhere, so that
// what is signed for one id and body passes for another id and body. Content
// therefore needs literal text beside an id, and an id that holds this text is
// refused.
package hmachook
