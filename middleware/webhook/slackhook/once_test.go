package slackhook_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/slackhook"
	"github.com/semel-go/semel/middleware/webhook/webhooktest"
)

// replayed reports whether w is a recorded answer.
func replayed(w *httptest.ResponseRecorder) bool {
	return w.Header().Get("Idempotent-Replayed") == "true"
}

// TestChallenge: Handle answers Slack's challenge, each time, and its function is
// not called; a handler of one's own runs without a claim.
func TestChallenge(t *testing.T) {
	t.Parallel()
	const body = `{"token":"t","challenge":"3eZbrw1aB","type":"url_verification"}`
	h := once(t, open(t, slackhook.Options{}), webhook.Handle(func(context.Context, webhook.Event) error { t.Error("it ran"); return nil }))
	own := once(t, open(t, slackhook.Options{}), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, claimed := idempotency.ClaimFrom(r.Context())
		_, ok := webhook.EventFrom(r.Context())
		got, err := io.ReadAll(r.Body)
		if claimed || ok || err != nil || string(got) != body {
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	for range 2 {
		w := deliver(h, request(signer(), body))
		require.Equal(t, http.StatusOK, w.Code)
		require.Equal(t, "3eZbrw1aB", w.Body.String())
		require.False(t, replayed(w))
		require.Equal(t, http.StatusOK, deliver(own, request(signer(), body)).Code)
	}
	forged := request(webhooktest.Slack(old).At(now), body)
	w := deliver(h, forged)
	require.Equal(t, http.StatusUnauthorized, w.Code)
	require.NotContains(t, w.Body.String(), "3eZbrw1aB")
}

// TestKinds: an event, a command and an interaction run once each, and the
// command's answer is replayed.
func TestKinds(t *testing.T) {
	t.Parallel()
	var runs atomic.Int64
	h := once(t, open(t, slackhook.Options{}), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		runs.Add(1)
		if r.Header.Get("Content-Type") == "application/x-www-form-urlencoded" {
			_, _ = io.WriteString(w, r.PostFormValue("command")+" "+r.PostFormValue("text"))
			return
		}
		got, err := webhook.Decode[struct{ Type string }](r.Context())
		if err != nil {
			w.WriteHeader(http.StatusTeapot)
		}
		_, _ = io.WriteString(w, got.Type)
	}))
	for body, want := range map[string]string{
		mention: "event_callback", command: "/deploy a&payload=1 b", interaction(click): "block_actions",
	} {
		for _, again := range []bool{false, true} {
			w := deliver(h, request(signer().At(now.Add(time.Minute)), body))
			require.Equal(t, http.StatusOK, w.Code)
			require.Equal(t, want, w.Body.String())
			require.Equal(t, again, replayed(w))
		}
	}
	require.EqualValues(t, 3, runs.Load())
}

// TestRetryRuns: a retry of what failed is run; dropping it for being one would
// lose the event.
func TestRetryRuns(t *testing.T) {
	t.Parallel()
	var attempts []int
	h := once(t, open(t, slackhook.Options{}), webhook.Handle(func(_ context.Context, e webhook.Event) error {
		if attempts = append(attempts, e.Attempt); len(attempts) < 3 {
			return io.ErrUnexpectedEOF
		}
		return nil
	}))
	for i, want := range []int{500, 500, 200, 200} {
		require.Equal(t, want, deliver(h, request(signer().Retry(i), mention)).Code)
	}
	require.Equal(t, []int{0, 1, 2}, attempts)
}

// TestGivesUp: Slack hangs up on a handler that takes too long and comes back at
// once. The handler runs on, the retry meanwhile is refused, a later one gets the
// recorded answer, and nothing runs twice.
func TestGivesUp(t *testing.T) {
	t.Parallel()
	var runs atomic.Int64
	running, end := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(once(t, open(t, slackhook.Options{}), webhook.Handle(func(ctx context.Context, _ webhook.Event) error {
		runs.Add(1)
		close(running)
		<-end
		return ctx.Err()
	})))
	t.Cleanup(server.Close)
	send := func(ctx context.Context, retry int) (int, http.Header, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader(""))
		if err != nil {
			return 0, nil, err
		}
		signer().Retry(retry).Sign(r, []byte(mention))
		res, err := server.Client().Do(r)
		if err != nil {
			return 0, nil, err
		}
		return res.StatusCode, res.Header, res.Body.Close()
	}

	ctx, hangUp := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, _, err := send(ctx, 0)
		first <- err
	}()
	select {
	case <-running:
	case err := <-first:
		require.Fail(t, "it did not run", "%v", err)
	}
	hangUp()
	require.ErrorIs(t, <-first, context.Canceled)

	status, busy, err := send(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, http.StatusConflict, status)
	require.NotEmpty(t, busy.Get("Retry-After"))

	close(end)
	require.Eventually(t, func() bool {
		status, h, err := send(t.Context(), 2)
		return err == nil && status == http.StatusOK && h.Get("Idempotent-Replayed") == "true"
	}, 10*time.Second, time.Millisecond)
	require.EqualValues(t, 1, runs.Load())
}
