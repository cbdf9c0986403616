package hmachook_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/hmachook"
	"github.com/semel-go/semel/middleware/webhook/webhooktest"
)

// A sender that signs "timestamp.body" and has the event's id in its body. In a
// server, webhook.Once asks the Verifier.
func Example() {
	const secret = "the-secret"
	verifier, err := hmachook.New("ledger", webhook.Secrets{secret}, hmachook.Options{
		Header:          "X-Ledger-Signature",
		Prefix:          "sha256=",
		Content:         "{timestamp}.{body}",
		TimestampHeader: "X-Ledger-Timestamp",
		IDField:         "event.id",
		TypeField:       "event.type",
	})
	if err != nil {
		log.Fatal(err)
	}

	req := httptest.NewRequest(http.MethodPost, "/webhooks/ledger", http.NoBody)
	body := []byte(`{"event":{"id":"ev-1","type":"entry.booked"}}`)
	webhooktest.HMAC(secret, webhooktest.HMACOptions{
		Header:          "X-Ledger-Signature",
		Prefix:          "sha256=",
		TimestampHeader: "X-Ledger-Timestamp",
		Content:         func(at, _ string, body []byte) []byte { return []byte(at + "." + string(body)) },
	}).Sign(req, body)

	delivery, err := verifier.Verify(context.Background(), req.Header, body)
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range delivery.Events {
		fmt.Println(e.Provider, e.ID, e.Type, e.IDSigned)
	}
	// Output: ledger ev-1 entry.booked true
}
