package middleware_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	semelhttp "github.com/semel-go/semel/middleware"
)

func TestDuplicateOfARunningRequestIsToldSo(t *testing.T) {
	eachStore(t, func(t *testing.T, env env) {
		started, finish := make(chan struct{}), make(chan struct{})
		s := env.protect(t, func(w http.ResponseWriter, _ *http.Request) {
			close(started)
			<-finish
			_, _ = io.WriteString(w, "done")
		}, semelhttp.IdempotencyOptions{})
		first := make(chan answer, 1)
		go func() {
			a, err := s.try(s.request(http.MethodPost, "/", "k", nil))
			if err != nil {
				a.body = err.Error()
			}
			first <- a
		}()
		<-started
		a := s.post("/", "k", "")
		p := a.problem(t)
		require.Equal(t, http.StatusConflict, a.status)
		require.Equal(t, semelhttp.CodeInProgress, p.Code)
		require.Equal(t, "A request is outstanding for this Idempotency-Key", p.Title)
		require.Equal(t, "5", a.header.Get("Retry-After"), "of a lease of 30 s")
		require.Equal(t, semelhttp.CodeKeyMismatch, s.post("/", "k", "x").code(t), "mismatch goes first")
		close(finish)
		require.Equal(t, "done", (<-first).body)
		require.Equal(t, "done", s.post("/", "k", "").body)
	})
}

func TestDuplicateWaitsAndIsReplayed(t *testing.T) {
	eachStore(t, func(t *testing.T, env env) {
		var calls counter
		finish := make(chan struct{})
		s := env.protect(t, func(w http.ResponseWriter, _ *http.Request) {
			n := calls.next()
			<-finish
			_, _ = fmt.Fprint(w, n)
		}, semelhttp.IdempotencyOptions{Wait: time.Minute})
		answers := make(chan answer, 5)
		for range cap(answers) {
			go func() {
				a, err := s.try(s.request(http.MethodPost, "/", "k", nil))
				if err != nil {
					a.body = err.Error()
				}
				answers <- a
			}()
		}
		require.Eventually(t, func() bool { return calls.total() > 0 }, 10*time.Second, time.Millisecond)
		close(finish)
		replays := 0
		for range cap(answers) {
			a := <-answers
			require.Equal(t, "1", a.body)
			if a.replayed() {
				replays++
			}
		}
		require.Equal(t, cap(answers)-1, replays)
	})
}

// held is a store in which every key is held, for it does not know how long.
type held struct{ idempotency.Store }

func (held) Begin(context.Context, idempotency.BeginRequest) (idempotency.Begun, error) {
	return idempotency.Begun{State: idempotency.StateHeld}, nil
}

// A lease that is nearly over is told as one second: less is not polite.
func TestRetryAfterIsAtLeastASecond(t *testing.T) {
	t.Parallel()
	never := env{store: held{inMemory(t).store}}.protect(t, tellPath, semelhttp.IdempotencyOptions{})
	require.Equal(t, "1", never.post("/", "k", "").header.Get("Retry-After"))

	started, finish := make(chan struct{}), make(chan struct{})
	s := inMemory(t).protect(t, func(http.ResponseWriter, *http.Request) {
		close(started)
		<-finish
	}, semelhttp.IdempotencyOptions{Lease: 400 * time.Millisecond})
	done := make(chan error, 1)
	go func() { _, err := s.try(s.request(http.MethodPost, "/", "k", nil)); done <- err }()
	<-started
	require.Equal(t, "1", s.post("/", "k", "").header.Get("Retry-After"))
	close(finish)
	require.NoError(t, <-done)
}
