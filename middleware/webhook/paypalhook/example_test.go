package paypalhook_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/paypalhook"
)

// A Verifier that has each event confirmed by PayPal's API. The client adds the
// access token.
func ExampleNew() {
	var client http.Client
	reread := func(ctx context.Context, e webhook.Event) ([]byte, error) {
		url := "https://api-m.paypal.com/v1/notifications/webhooks-events/" + e.ID
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return nil, err
		}
		res, err := client.Do(req)
		if err != nil {
			return nil, err
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return nil, errors.New(res.Status)
		}
		return io.ReadAll(io.LimitReader(res.Body, 1<<20))
	}
	verifier, err := paypalhook.New("1JE4291016473214C", paypalhook.Options{Reread: reread})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(verifier.Provider())

	_, err = paypalhook.New(os.Getenv("A_VARIABLE_THAT_IS_NOT_SET"), paypalhook.Options{})
	fmt.Println(errors.Is(err, paypalhook.ErrWebhookID))
	// Output:
	// paypal
	// true
}
