package standardhook_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/standardhook"
	"github.com/semel-go/semel/middleware/webhook/webhooktest"
)

// What one delivery holds. In a server, webhook.Once asks.
func Example() {
	const secret = "whsec_bGV0IGl0IGJlIGRvbmUgb25jZSBhbmQgb25jZSBvbmx5"
	verifier, err := standardhook.New(webhook.Secrets{secret}, standardhook.Options{Name: "clerk"})
	if err != nil {
		log.Fatal(err)
	}

	req := httptest.NewRequest(http.MethodPost, "/webhooks/clerk", http.NoBody)
	body := []byte(`{"type":"user.created","data":{"id":"u_1"}}`)
	webhooktest.Svix(secret).ID("msg_1").Sign(req, body)

	delivery, err := verifier.Verify(context.Background(), req.Header, body)
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range delivery.Events {
		fmt.Println(e.Provider, e.ID, e.Type)
	}
	// Output: clerk msg_1 user.created
}
