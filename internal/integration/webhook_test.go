package integration_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/redisstore"
	"github.com/semel-go/semel/internal/redistest"
	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/stripehook"
	"github.com/semel-go/semel/middleware/webhook/webhooktest"
)

const (
	hookSecret = "whsec_integration"
	hookEvent  = `{"id":"evt_1","object":"event","type":"invoice.paid","data":{"object":{"id":"in_1"}}}`
	hookLease  = time.Second
)

// hookEndpoint returns a Stripe endpoint on the Redis at addr, and its guard.
func hookEndpoint(addr string, handle func(context.Context, webhook.Event) error) (http.Handler, *idempotency.Guard, error) {
	store, err := redisstore.New(redis.NewClient(&redis.Options{Addr: addr}), redisstore.Options{})
	if err != nil {
		return nil, nil, err
	}
	guard, err := idempotency.New(store, idempotency.Options{Lease: hookLease})
	if err != nil {
		return nil, nil, err
	}
	stripe, err := stripehook.New(webhook.Secrets{hookSecret}, stripehook.Options{})
	if err != nil {
		return nil, nil, err
	}
	return webhook.Once(guard, "billing", stripe, webhook.Options{})(webhook.Handle(handle)), guard, nil
}

// hookDeliver delivers the event to h and returns the answer.
func hookDeliver(h http.Handler) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/webhooks/stripe", nil)
	webhooktest.Stripe(hookSecret).Sign(r, []byte(hookEvent))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// hookChild is a process that is killed while its handler runs.
func hookChild() int {
	h, _, err := hookEndpoint(os.Getenv("HOOK_REDIS"), func(context.Context, webhook.Event) error {
		die()
		return nil
	})
	if err == nil {
		err = fmt.Errorf("not killed: %d", hookDeliver(h).Code)
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// TestWebhookOfAKilledProcess: an event whose process was killed in the handler
// is refused until the lease is over, and then runs again, once.
func TestWebhookOfAKilledProcess(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	started := time.Now()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), roleEnv+"=hook", "HOOK_REDIS="+server.Addr())
	child.Stderr = os.Stderr
	require.Error(t, child.Run())
	require.Equal(t, -1, child.ProcessState.ExitCode(), "it was killed")

	runs := 0
	h, guard, err := hookEndpoint(server.Addr(), func(ctx context.Context, _ webhook.Event) error {
		runs++
		claim, ok := idempotency.ClaimFrom(ctx)
		require.True(t, ok)
		require.Positive(t, claim.Fence())
		return nil
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, guard.Close(context.Background())) })
	refused := 0
	for {
		w := hookDeliver(h)
		if w.Code == http.StatusOK {
			break
		}
		require.Equal(t, http.StatusConflict, w.Code)
		require.NotEmpty(t, w.Header().Get("Retry-After"))
		refused++
		require.Less(t, time.Since(started), time.Minute, "refused for ever")
		time.Sleep(10 * time.Millisecond) // as a provider that is in a hurry
	}
	require.Equal(t, 1, runs)
	require.Equal(t, "true", hookDeliver(h).Header().Get("Idempotent-Replayed"))
	require.Equal(t, 1, runs)
	t.Logf("refused %d times, then run", refused)
}
