package webhook_test

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/observe"
)

// A: an answer of 2xx to an event that is not recorded.
func TestZZReleased2xx(t *testing.T) {
	t.Parallel()
	e := inMemory(t, idempotency.Options{})
	s := e.serve(t, maker{}, webhook.Options{}, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		c, _ := idempotency.ClaimFrom(r.Context())
		c.Release()
	}))
	require.GreaterOrEqual(t, s.deliver(t, evt1).status, 300)
	// middleware in between that turns errors into a page with 200
	for _, err := range []error{errBoom, idempotency.Unknown(errBoom), idempotency.RetryAfter(time.Second, errBoom)} {
		inner := webhook.Handle(func(context.Context, webhook.Event) error { return err })
		s = e.serve(t, maker{}, webhook.Options{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			inner.ServeHTTP(newWriter(), r)
			w.WriteHeader(200)
		}))
		require.GreaterOrEqual(t, s.deliver(t, `{"id":"`+strings.ReplaceAll(err.Error(), " ", "")+`x"}`).status, 300, err)
	}
}

func TestZZHugeMaxBody(t *testing.T) {
	t.Parallel()
	e := inMemory(t, idempotency.Options{})
	s := e.serve(t, maker{}, webhook.Options{MaxBody: math.MaxInt64, MaxRun: math.MaxInt64}, webhook.Handle(func(context.Context, webhook.Event) error { return nil }))
	require.Equal(t, 200, s.deliver(t, evt1).status)
}

func TestZZHugeRetryAfter(t *testing.T) {
	t.Parallel()
	e := inMemory(t, idempotency.Options{})
	s := e.serve(t, maker{}, webhook.Options{}, webhook.Handle(func(context.Context, webhook.Event) error {
		return idempotency.RetryAfter(math.MaxInt64, errors.New("x"))
	}))
	got := s.deliver(t, evt1)
	require.Equal(t, 503, got.status)
	require.NotEqual(t, "1", got.header.Get("Retry-After"))
	t.Log(got.header.Get("Retry-After"), s.deliver(t, evt1))
}

func TestZZGuardWait(t *testing.T) {
	t.Parallel()
	e := inMemory(t, idempotency.Options{Wait: 3 * time.Second})
	running, end := make(chan struct{}), make(chan struct{})
	s := e.serve(t, maker{policy: webhook.Policy{Patience: 20 * time.Millisecond}}, webhook.Options{},
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(running); <-end }))
	first := make(chan reply)
	go func() { first <- s.deliver(t, evt1) }()
	<-running
	began := time.Now()
	require.Equal(t, http.StatusConflict, s.deliver(t, evt1).status)
	close(end)
	<-first
	require.Less(t, time.Since(began), time.Second)
}

func TestZZBatchWait(t *testing.T) {
	t.Parallel()
	e := inMemory(t, idempotency.Options{})
	end := make(chan struct{})
	running := make(chan struct{}, 10)
	s := e.serve(t, maker{policy: webhook.Policy{Wait: time.Hour, Patience: time.Second}}, webhook.Options{},
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) { running <- struct{}{}; <-end }))
	first := make(chan reply, 10)
	ids := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	var items []string
	for _, id := range ids {
		items = append(items, `{"id":"`+id+`"}`)
		go func() { first <- s.deliver(t, `{"id":"`+id+`"}`) }()
		<-running
	}
	began := time.Now()
	require.Equal(t, http.StatusConflict, s.deliver(t, "["+strings.Join(items, ",")+"]").status)
	took := time.Since(began)
	close(end)
	for range ids {
		<-first
	}
	require.Less(t, took, 1500*time.Millisecond)
}

func TestZZUnreadTold(t *testing.T) {
	t.Parallel()
	e := inMemory(t, idempotency.Options{})
	s := e.serve(t, maker{}, webhook.Options{MaxBody: 5}, webhook.Handle(func(context.Context, webhook.Event) error { return nil }))
	require.Equal(t, 413, s.deliver(t, evt1).status)
	require.Len(t, s.events.of(observe.DeliveryRefused), 1)
}

func TestZZTwice(t *testing.T) {
	t.Parallel()
	e := inMemory(t, idempotency.Options{})
	runs := 0
	once := webhook.Once(e.guard, "billing", maker{}, webhook.Options{})
	s := newSite(t, once(once(webhook.Handle(func(context.Context, webhook.Event) error { runs++; return nil }))))
	require.Equal(t, 200, s.deliver(t, evt1).status)
	require.Equal(t, 200, s.deliver(t, evt1).status)
	require.Equal(t, 1, runs)
}

func TestZZPolicyOK(t *testing.T) {
	t.Parallel()
	e := inMemory(t, idempotency.Options{})
	for _, p := range []webhook.Policy{{OK: 99}, {OK: 500}, {MaxBody: -1}, {OK: 1000}, {Wait: -7}, {Patience: -1}} {
		require.Panics(t, func() { webhook.Once(e.guard, "billing", maker{policy: p}, webhook.Options{}) }, p)
	}
}
