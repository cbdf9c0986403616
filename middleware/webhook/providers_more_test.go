package webhook_test

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/adyenhook"
	"github.com/semel-go/semel/middleware/webhook/githubhook"
	"github.com/semel-go/semel/middleware/webhook/paddlehook"
	"github.com/semel-go/semel/middleware/webhook/shopifyhook"
	"github.com/semel-go/semel/middleware/webhook/slackhook"
	"github.com/semel-go/semel/middleware/webhook/squarehook"
	"github.com/semel-go/semel/middleware/webhook/webhooktest"
)

// githubProvider is GitHub, which signs no time.
func githubProvider() (provider, error) {
	v, err := githubhook.New(webhook.Secrets{"old", "It's a Secret to Everybody"}, githubhook.Options{})
	return provider{
		verifier: v,
		sign: func(r *http.Request, body []byte, _ time.Time) {
			webhooktest.GitHub("It's a Secret to Everybody").Sign(r, body)
		},
		bodies: map[string][]byte{"push": []byte(`{"ref":"refs/heads/main","repository":{"id":9}}`), "no json": []byte("Hello, World!")},
	}, err
}

// shopifyProvider is Shopify, which signs no time.
func shopifyProvider() (provider, error) {
	v, err := shopifyhook.New(webhook.Secrets{"old", "hush"}, shopifyhook.Options{})
	return provider{
		verifier: v,
		sign: func(r *http.Request, body []byte, at time.Time) {
			webhooktest.Shopify("hush").At(at).Sign(r, body)
		},
		bodies: map[string][]byte{"order": []byte(`{"id":9}`), "redact": []byte(`{"shop_id":1,"shop_domain":"example.myshopify.com"}`)},
	}, err
}

// slackProvider is Slack.
func slackProvider() (provider, error) {
	v, err := slackhook.New(webhook.Secrets{"old", "8f742231b10e8888abcd99yyyzzz85a5"}, slackhook.Options{})
	return provider{
		verifier: v,
		sign: func(r *http.Request, body []byte, at time.Time) {
			webhooktest.Slack("8f742231b10e8888abcd99yyyzzz85a5").At(at).Sign(r, body)
		},
		bodies: map[string][]byte{
			"mention": []byte(`{"type":"event_callback","event_id":"Ev9","team_id":"T1","event":{"type":"app_mention","channel":"C1"}}`),
			"command": []byte(url.Values{"command": {"/deploy"}, "text": {"a b"}, "trigger_id": {"1.2.3"}, "team_id": {"T1"}}.Encode()),
		},
	}, err
}

// squareProvider is Square, which signs no time.
func squareProvider() (provider, error) {
	const url = "https://shop.example/webhooks/square"
	v, err := squarehook.New(url, webhook.Secrets{"old", "a-signature-key"}, squarehook.Options{})
	return provider{
		verifier: v,
		sign: func(r *http.Request, body []byte, _ time.Time) {
			webhooktest.Square(url, "a-signature-key").Sign(r, body)
		},
		bodies: map[string][]byte{"payment": []byte(`{"merchant_id":"M9","type":"payment.updated","event_id":"9","data":{"id":"p9"}}`)},
	}, err
}

// paddleProvider is Paddle, while a secret is being rotated.
func paddleProvider() (provider, error) {
	v, err := paddlehook.New(webhook.Secrets{"pdl_ntfset_old"}, paddlehook.Options{})
	return provider{
		verifier: v,
		sign: func(r *http.Request, body []byte, at time.Time) {
			webhooktest.Paddle("pdl_ntfset_old", "pdl_ntfset_new").At(at).Sign(r, body)
		},
		bodies: map[string][]byte{"paid": []byte(`{"event_id":"evt_9","event_type":"transaction.paid","data":{"id":"txn_9"}}`)},
	}, err
}

// adyenProvider is Adyen's standard webhooks, whose signature is in the body.
func adyenProvider() (provider, error) {
	const key = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
	v, err := adyenhook.New(webhook.Secrets{strings.Repeat("0f", 32), key}, adyenhook.Options{})
	signer := webhooktest.Adyen(key)
	return provider{
		verifier: v,
		sign:     func(r *http.Request, body []byte, _ time.Time) { signer.Sign(r, body) },
		prepare:  signer.Body,
		bodies: map[string][]byte{"authorised": signer.Body([]byte(`{"notificationItems":[{"NotificationRequestItem":{
			"pspReference":"P9","merchantAccountCode":"Shop","eventCode":"AUTHORISATION","success":"true","amount":{"value":1,"currency":"EUR"}}}]}`))},
	}, err
}
