// Package githubhook verifies GitHub's webhooks, of repositories, organizations
// and GitHub Apps, as JSON or as a form. It does not call GitHub, and it takes no
// SHA-1: the older header X-Hub-Signature is never looked at.
//
//	github, err := githubhook.New(webhook.Secrets{os.Getenv("GITHUB_WEBHOOK_SECRET")}, githubhook.Options{})
//
// # What is signed
//
// HMAC-SHA256 over the whole body with the hook's secret, in the header
// X-Hub-Signature-256 (docs.github.com/webhooks/using-webhooks/
// validating-webhook-deliveries). A hook without a secret sends no such header,
// and what it sends is refused.
//
// Nothing else is signed: not the delivery's id, not the hook's, not the event's
// name, and no time. So Event.IDSigned is false, and Event.Type is what a header
// says. A handler that does something grave should make sure that the body is of
// the kind that the type says.
//
// # What a captured delivery can do
//
// Whoever has one can send its body again, at any time:
//
//   - under its own id it gets the recorded answer for Once's retention, and runs
//     again after it;
//   - under a fresh id, or as from another hook, it runs again;
//   - under the id of a delivery that is yet to come, which the owner of another
//     hook on the same repository can know, it takes that delivery's place, and
//     the genuine one is answered as a duplicate;
//   - under another event's name the handler gets it as one of that name.
//
// webhook.Options.BindBody holds each body that has come to the id and hook that it
// came with, and so stops the second and the third while it is kept; a longer
// Retention keeps it longer. Genuine deliveries of the same bytes are then refused,
// too: two hooks on one repository need an endpoint each, and GitHub at times sends
// the same ping twice, which only the person sees who asked for it. The secret and
// TLS are what keeps a delivery from being captured.
//
// # What is one event
//
// X-GitHub-Delivery stays the same when a delivery is sent again. GitHub gives
// one such id to the deliveries of an event to several hooks and Apps, with
// different bodies (github/docs#32822), so Event.Tenant is the hook's number,
// X-GitHub-Hook-ID: both run. Senders in GitHub's manner that have no such header
// have no tenant.
//
// # Forms
//
// A hook whose content type is application/x-www-form-urlencoded sends the JSON
// in the field payload, and signs the form. Event.Body is then the JSON, and so is
// the body that the handler reads. Which of the two a body is, it says itself:
// the Content-Type is not signed, and whoever can put text into an event could
// otherwise have JSON that holds "&payload=" read as a form.
//
// # Answers
//
// GitHub waits 10 s and does not deliver again by itself. A delivery that fails,
// or is refused while the store is down, is lost unless somebody redelivers it
// within 3 days: see "GitHub does not deliver again" in docs/webhooks.md. A
// duplicate therefore waits for the run that is under way. The ping of a new hook
// is an event as any other, of the type "ping": answer it with 2xx.
package githubhook
