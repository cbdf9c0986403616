package slackhook_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/memstore"
	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/slackhook"
	"github.com/semel-go/semel/middleware/webhook/webhooktest"
)

// An endpoint that handles each of Slack's events once. Slack's challenge, which
// it sends when the endpoint is entered, is answered by webhook.Handle.
func Example() {
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		log.Fatal(err)
	}
	guard, err := idempotency.New(store, idempotency.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = guard.Close(context.Background()) }()
	verifier, err := slackhook.New(webhook.Secrets{"the-signing-secret"}, slackhook.Options{})
	if err != nil {
		log.Fatal(err)
	}

	handler := webhook.Once(guard, "bot", verifier, webhook.Options{})(
		webhook.Handle(func(_ context.Context, e webhook.Event) error {
			fmt.Println(e.Type, e.ID, "in", e.Resource)
			return nil
		}))

	for _, body := range []string{
		`{"type":"url_verification","challenge":"3eZbrw1aB"}`,
		`{"type":"event_callback","event_id":"Ev1","event":{"type":"app_mention","channel":"C1"}}`,
		`{"type":"event_callback","event_id":"Ev1","event":{"type":"app_mention","channel":"C1"}}`,
	} {
		req := httptest.NewRequest(http.MethodPost, "/webhooks/slack", http.NoBody)
		webhooktest.Slack("the-signing-secret").Sign(req, []byte(body))
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, req)
		fmt.Printf("%d %q\n", answer.Code, answer.Body)
	}
	// Output:
	// 200 "3eZbrw1aB"
	// app_mention Ev1 in C1
	// 200 ""
	// 200 ""
}
