// Package slackhook verifies what Slack sends to an app: events of the Events
// API, slash commands, and interactions. It does not call Slack.
//
//	slack, err := slackhook.New(webhook.Secrets{os.Getenv("SLACK_SIGNING_SECRET")}, slackhook.Options{})
//
// # What is signed
//
// HMAC-SHA256 over "v0:timestamp:body" with the app's signing secret
// (docs.slack.dev/authentication/verifying-requests-from-slack). All that a key is
// made of is in the body, so Event.IDSigned is true. Not signed are the letter case
// of the signature's hex, and every other header: X-Slack-Retry-Num, which becomes
// Event.Attempt and decides nothing, and the Content-Type, which is not asked.
//
// # What a captured delivery can do
//
// Whoever has one can send it again, unchanged, for Options.Tolerance, and gets
// the recorded answer. After that it is refused. Slack signs each attempt anew.
//
// # What is one event
//
//	what comes                           its id                        its type
//	an event, of event_callback          event_id                      as "app_mention"
//	a notice that events are held back   the type and the minute       "app_rate_limited"
//	a slash command                      trigger_id                    the command, as "/deploy"
//	an interaction                       trigger_id                    as "block_actions"
//	an interaction without one           the SHA-256 of its body       as "view_closed"
//	url_verification, ssl_check          none: it passes through
//	block_suggestion, dialog_suggestion  none: it passes through
//
// Slack delivers commands and interactions once, so that only a copy has the same
// id. What passes through runs the handler without a claim. webhook.Handle answers
// a url_verification with its challenge, and what else passes through with an
// empty 200; the options that a suggestion asks for are a handler's of your own.
//
// Event.Tenant is the app and the workspace, as "A0123/T0456". Event.Resource is
// the conversation. Event.Body is the JSON of an event; of an interaction, which
// comes as a form, the JSON in its field payload, and so is the body that the
// handler reads; of a command it is the form.
//
// # Several events for one message
//
// Slack has been seen to send one message in up to eleven events, each with an
// event_id of its own (slackapi/node-slack-sdk#2141). Options.OncePerMessage makes
// them one.
//
// # Answers
//
// Slack waits 3 s and delivers an event again at once, after a minute and after
// five. A handler may take longer: it runs on, the retry that comes meanwhile gets
// 409, and a later one the recorded answer. A retry is never dropped for being
// one: if the first attempt failed, it is the event. An app whose endpoint answers
// less than 5 % of an hour's deliveries with 2xx loses its subscription. Commands
// and interactions are not delivered again, and their answer is what the user
// sees: answer within 3 s, and go on through the response_url.
package slackhook
