package shopifyhook_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/memstore"
	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/shopifyhook"
	"github.com/semel-go/semel/middleware/webhook/webhooktest"
)

// An endpoint that handles each of Shopify's events once.
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
	verifier, err := shopifyhook.New(webhook.Secrets{"the-client-secret"}, shopifyhook.Options{})
	if err != nil {
		log.Fatal(err)
	}

	handler := webhook.Once(guard, "orders", verifier, webhook.Options{})(
		webhook.Handle(func(ctx context.Context, e webhook.Event) error {
			order, err := webhook.Decode[struct{ Name string }](ctx)
			if err != nil {
				return webhook.Permanent(err)
			}
			fmt.Println(e.Tenant, e.Type, order.Name)
			return nil
		}))

	// Shopify delivers, and delivers again.
	signer := webhooktest.Shopify("the-client-secret").Topic("orders/create")
	for range 2 {
		req := httptest.NewRequest(http.MethodPost, "/webhooks/shopify", http.NoBody)
		signer.Sign(req, []byte(`{"id":820982911946154508,"name":"#9999"}`))
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, req)
		fmt.Println(answer.Code)
	}
	// Output:
	// example.myshopify.com orders/create #9999
	// 200
	// 200
}
