package webhook_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/middleware/webhook"
)

// waiting are the providers whose duplicates wait for the run that is under way:
// they do not come back, or punish a refusal. The others' get 409.
var waiting = []string{"github", "shopify", "adyen"}

// TestDefaultAnswers: what each provider gets by default, over a real listener,
// for a duplicate of a delivery that is being handled: 409 and when to come again,
// or, after a wait, the first's answer.
func TestDefaultAnswers(t *testing.T) {
	t.Parallel()
	e := inMemory(t, idempotency.Options{})
	for name, p := range providers(t) {
		for file, body := range p.bodies {
			if slices.Contains(waiting, name) {
				p.waits(t, e, name+"/"+file, body)
			} else {
				p.refuses(t, e, name+"/"+file, body)
			}
		}
	}
}

// answered is what came back for a delivery, and after how long.
type answered struct {
	reply
	after time.Duration
}

// held serves p with its defaults and a handler that runs until end is called.
// arrived gets a value for each delivery that is verified, running for each run.
func (p provider) held(t *testing.T, e env, endpoint string, body []byte) (send func() chan answered, arrived, running chan struct{}, end func()) {
	t.Helper()
	arrived, running = make(chan struct{}, 9), make(chan struct{}, 9)
	over := make(chan struct{})
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		running <- struct{}{}
		<-over
		webhook.Handle(nothing).ServeHTTP(w, r)
	})
	server := httptest.NewServer(webhook.Once(e.guard, endpoint, arriving{p.verifier, arrived}, webhook.Options{})(h))
	t.Cleanup(server.Close)
	send = func() chan answered {
		got := make(chan answered, 1)
		go func() {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader(""))
			if err != nil {
				t.Error(err)
			}
			began := time.Now()
			p.sign(r, body, began)
			res, err := server.Client().Do(r)
			if err != nil {
				t.Error(err)
				close(got)
				return
			}
			text, err := io.ReadAll(res.Body)
			if err := errors.Join(err, res.Body.Close()); err != nil {
				t.Error(err)
			}
			got <- answered{reply{res.StatusCode, res.Header, string(text)}, time.Since(began)}
		}()
		return got
	}
	return send, arrived, running, func() { close(over) }
}

// arriving is a Verifier that tells of each delivery. It passes on what the
// provider advises.
type arriving struct {
	webhook.Verifier
	arrived chan struct{}
}

func (a arriving) Verify(ctx context.Context, h http.Header, body []byte) (webhook.Delivery, error) {
	d, err := a.Verifier.Verify(ctx, h, body)
	a.arrived <- struct{}{}
	return d, err
}

func (a arriving) Policy() webhook.Policy {
	if adviser, ok := a.Verifier.(webhook.Adviser); ok {
		return adviser.Policy()
	}
	return webhook.Policy{}
}

// requireRunning waits until the first delivery's handler runs.
func requireRunning(t *testing.T, running chan struct{}, first chan answered) {
	t.Helper()
	select {
	case <-running:
	case got := <-first:
		require.Fail(t, "it did not run", "%d %s", got.status, got.body)
	}
}

// refuses shows that a duplicate gets 409 while the first is running.
func (p provider) refuses(t *testing.T, e env, endpoint string, body []byte) {
	t.Helper()
	send, _, running, end := p.held(t, e, endpoint, body)
	first := send()
	requireRunning(t, running, first)
	busy := <-send()
	require.Equal(t, http.StatusConflict, busy.status, endpoint)
	require.NotEmpty(t, busy.header.Get("Retry-After"), endpoint)
	end()
	ran, again := <-first, <-send()
	require.True(t, again.replayed(), endpoint)
	require.Equal(t, []any{ran.status, ran.body}, []any{again.status, again.body}, endpoint)
	require.Empty(t, running, endpoint)
}

// waits shows that a duplicate is not answered while the first is running, and
// then gets its answer. Where the machine stood still for longer than a duplicate
// waits it shows nothing, and is tried again.
func (p provider) waits(t *testing.T, e env, endpoint string, body []byte) {
	t.Helper()
	wait := p.verifier.(webhook.Adviser).Policy().Wait
	require.Positive(t, wait, endpoint)
	for range 5 {
		endpoint += "+"
		send, arrived, running, end := p.held(t, e, endpoint, body)
		first := send()
		requireRunning(t, running, first)
		<-arrived
		duplicate := send()
		<-arrived
		select {
		case got := <-duplicate:
			end()
			<-first
			require.Equal(t, http.StatusConflict, got.status, endpoint)
			require.GreaterOrEqual(t, got.after, wait, endpoint)
			continue
		case <-time.After(20 * time.Millisecond): // it would have come by now, or shows nothing
		}
		end()
		ran, got := <-first, <-duplicate
		if got.status == http.StatusConflict && got.after >= wait {
			continue
		}
		require.True(t, got.replayed(), endpoint)
		require.True(t, got.status >= 200 && got.status <= 299, endpoint)
		require.Equal(t, []any{ran.status, ran.body}, []any{got.status, got.body}, endpoint)
		require.Empty(t, running, endpoint)
		return
	}
	require.Fail(t, "the machine stands still", endpoint)
}
