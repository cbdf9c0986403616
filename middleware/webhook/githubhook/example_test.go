package githubhook_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/memstore"
	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/githubhook"
	"github.com/semel-go/semel/middleware/webhook/webhooktest"
)

// An endpoint that handles each of GitHub's events once, for a hook of either
// content type.
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
	verifier, err := githubhook.New(webhook.Secrets{"the-hooks-secret"}, githubhook.Options{})
	if err != nil {
		log.Fatal(err)
	}

	handler := webhook.Once(guard, "builds", verifier, webhook.Options{})(
		webhook.Handle(func(ctx context.Context, e webhook.Event) error {
			push, err := webhook.Decode[struct{ Ref string }](ctx)
			if err != nil {
				return webhook.Permanent(err)
			}
			fmt.Println(e.Type, push.Ref)
			return nil
		}))

	// GitHub delivers, and somebody presses "redeliver".
	signer := webhooktest.GitHub("the-hooks-secret").Event("push").Form()
	for range 2 {
		req := httptest.NewRequest(http.MethodPost, "/webhooks/github", http.NoBody)
		signer.Sign(req, []byte(`{"ref":"refs/heads/main"}`))
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, req)
		fmt.Println(answer.Code)
	}
	// Output:
	// push refs/heads/main
	// 200
	// 200
}
