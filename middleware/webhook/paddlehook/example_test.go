package paddlehook_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/memstore"
	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/paddlehook"
	"github.com/semel-go/semel/middleware/webhook/webhooktest"
)

// An endpoint that handles each of Paddle's events once.
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
	verifier, err := paddlehook.New(webhook.Secrets{"pdl_ntfset_example"}, paddlehook.Options{})
	if err != nil {
		log.Fatal(err)
	}

	handler := webhook.Once(guard, "billing", verifier, webhook.Options{})(
		webhook.Handle(func(_ context.Context, e webhook.Event) error {
			fmt.Println(e.ID, e.Type, e.Resource)
			return nil
		}))

	// Paddle delivers; later somebody replays the event, which is another
	// notification of it.
	for _, notification := range []string{"ntf_1", "ntf_2"} {
		body := fmt.Appendf(nil, `{"event_id":"evt_1","event_type":"transaction.completed","notification_id":%q,"data":{"id":"txn_1"}}`, notification)
		req := httptest.NewRequest(http.MethodPost, "/webhooks/paddle", http.NoBody)
		webhooktest.Paddle("pdl_ntfset_example").Sign(req, body)
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, req)
		fmt.Println(answer.Code)
	}
	// Output:
	// evt_1 transaction.completed txn_1
	// 200
	// 200
}
