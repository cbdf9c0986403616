package squarehook_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/memstore"
	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/squarehook"
	"github.com/semel-go/semel/middleware/webhook/webhooktest"
)

// An endpoint that handles each of Square's events once. The URL is the one that
// was entered at Square, wherever the server stands.
func Example() {
	const notificationURL = "https://shop.example/webhooks/square"
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		log.Fatal(err)
	}
	guard, err := idempotency.New(store, idempotency.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = guard.Close(context.Background()) }()
	verifier, err := squarehook.New(notificationURL, webhook.Secrets{"a-signature-key"}, squarehook.Options{})
	if err != nil {
		log.Fatal(err)
	}

	handler := webhook.Once(guard, "orders", verifier, webhook.Options{})(
		webhook.Handle(func(_ context.Context, e webhook.Event) error {
			fmt.Println(e.Tenant, e.ID, e.Type, e.Resource)
			return nil
		}))

	// Square delivers, and delivers again.
	body := []byte(`{"merchant_id":"ML9","type":"payment.updated","event_id":"6a8f5f28","data":{"type":"payment","id":"pay_7"}}`)
	for range 2 {
		req := httptest.NewRequest(http.MethodPost, "/square", http.NoBody)
		webhooktest.Square(notificationURL, "a-signature-key").Sign(req, body)
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, req)
		fmt.Println(answer.Code)
	}
	// Output:
	// ML9 6a8f5f28 payment.updated pay_7
	// 200
	// 200
}
