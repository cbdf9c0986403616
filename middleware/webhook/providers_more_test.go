package webhook_test

import (
	"net/http"
	"net/url"
	"time"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/githubhook"
	"github.com/semel-go/semel/middleware/webhook/shopifyhook"
	"github.com/semel-go/semel/middleware/webhook/slackhook"
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
