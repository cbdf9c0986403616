package adyenhook_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/memstore"
	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/adyenhook"
	"github.com/semel-go/semel/middleware/webhook/webhooktest"
)

// An endpoint that handles each item of Adyen's standard webhooks once.
func Example() {
	const hmacKey = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		log.Fatal(err)
	}
	guard, err := idempotency.New(store, idempotency.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = guard.Close(context.Background()) }()
	verifier, err := adyenhook.New(webhook.Secrets{hmacKey}, adyenhook.Options{})
	if err != nil {
		log.Fatal(err)
	}

	handler := webhook.Once(guard, "payments", verifier, webhook.Options{})(
		webhook.Handle(func(_ context.Context, e webhook.Event) error {
			fmt.Println(e.Tenant, e.ID)
			return nil
		}))

	// Adyen delivers, and delivers again.
	body := []byte(`{"live":"false","notificationItems":[{"NotificationRequestItem":{"pspReference":"PSP7",
		"merchantAccountCode":"ShopECOM","merchantReference":"INV-7","amount":{"value":1999,"currency":"EUR"},
		"eventCode":"AUTHORISATION","success":"true"}}]}`)
	for range 2 {
		req := httptest.NewRequest(http.MethodPost, "/adyen", http.NoBody)
		webhooktest.Adyen(hmacKey).Sign(req, body)
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, req)
		fmt.Println(answer.Code)
	}
	// Output:
	// ShopECOM PSP7:AUTHORISATION:true
	// 202
	// 202
}
