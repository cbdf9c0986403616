package stripehook_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/memstore"
	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/stripehook"
	"github.com/semel-go/semel/middleware/webhook/webhooktest"
)

// An endpoint that handles each of Stripe's events once.
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
	verifier, err := stripehook.New(webhook.Secrets{"whsec_example"}, stripehook.Options{})
	if err != nil {
		log.Fatal(err)
	}

	handler := webhook.Once(guard, "billing", verifier, webhook.Options{})(
		webhook.Handle(func(ctx context.Context, e webhook.Event) error {
			event, err := stripehook.EventFrom(ctx)
			if err != nil {
				return webhook.Permanent(err)
			}
			fmt.Println(e.ID, e.Type, event.GetObjectValue("status"))
			return nil
		}))

	// Stripe delivers, and delivers again.
	body := []byte(`{"id":"evt_1","object":"event","type":"invoice.paid","data":{"object":{"id":"in_1","status":"paid"}}}`)
	for range 2 {
		req := httptest.NewRequest(http.MethodPost, "/webhooks/stripe", http.NoBody)
		webhooktest.Stripe("whsec_example").Sign(req, body)
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, req)
		fmt.Println(answer.Code)
	}
	// Output:
	// evt_1 invoice.paid paid
	// 200
	// 200
}
