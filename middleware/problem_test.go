package middleware_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	semelhttp "github.com/semel-go/semel/middleware"
)

func TestProblemIsWrittenAsRFC9457Says(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)
	p := semelhttp.Problem{
		Type: "urn:semel:problem:x", Title: "T", Status: 409, Code: "x", Detail: "D",
		OriginalStatus: 201, CompletedAt: at, Location: "/a", Until: at,
		RetryAfter: 1100 * time.Millisecond, Cause: errBroken,
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", nil))
	require.Equal(t, 409, w.Code)
	require.Equal(t, http.Header{
		"Content-Type":   {"application/problem+json"},
		"Content-Length": {w.Header().Get("Content-Length")},
		"Cache-Control":  {"no-store"},
		"Retry-After":    {"2"},
		"Location":       {"/a"},
	}, w.Header())
	require.JSONEq(t, `{"type":"urn:semel:problem:x","title":"T","status":409,"code":"x","detail":"D",
		"original_status":201,"completed_at":"2026-01-02T03:04:05.678Z","location":"/a","until":"2026-01-02T03:04:05.678Z"}`, w.Body.String())

	s := serve(t, p)
	a := s.do(s.request(http.MethodHead, "/", "", nil))
	require.Empty(t, a.body)
	require.Equal(t, w.Header().Get("Content-Length"), a.header.Get("Content-Length"))

	bare := httptest.NewRecorder()
	semelhttp.Problem{Status: 400, CompletedAt: at.AddDate(9999, 0, 0)}.ServeHTTP(bare, httptest.NewRequest(http.MethodPost, "/", nil))
	require.JSONEq(t, `{"type":"","title":"","status":400,"code":"","detail":""}`, bare.Body.String())
	require.Empty(t, bare.Header()["Retry-After"])
}

func TestProblemsMayHaveAnotherForm(t *testing.T) {
	t.Parallel()
	s := inMemory(t).protect(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "/there")
		_, _ = io.WriteString(w, "too much")
	}, semelhttp.IdempotencyOptions{
		MaxResponse: 1,
		Problem: func(w http.ResponseWriter, _ *http.Request, p semelhttp.Problem) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusTeapot)
			_ = json.NewEncoder(w).Encode(map[string]any{"error": p.Code, "was": p.OriginalStatus})
		},
	})
	a := s.post("/", "", "")
	require.Equal(t, http.StatusTeapot, a.status)
	require.JSONEq(t, `{"error":"key_missing","was":0}`, a.body)
	require.Equal(t, "no-store", a.header.Get("Cache-Control"))
	s.post("/", "k", "")
	a = s.post("/", "k", "")
	require.JSONEq(t, `{"error":"result_not_retained","was":200}`, a.body)
	require.Equal(t, "/there", a.header.Get("Location"))
}

// The cause is for whoever writes logs.
func TestProblemHasItsCause(t *testing.T) {
	t.Parallel()
	causes := make(chan error, 1)
	store, s, _, _ := inMemory(t).broke(t, semelhttp.IdempotencyOptions{
		Problem: func(w http.ResponseWriter, r *http.Request, p semelhttp.Problem) {
			causes <- p.Cause
			p.ServeHTTP(w, r)
		},
	})
	store.onBegin.set(broken)
	requireUnavailable(t, s.post("/", "k", ""))
	require.ErrorIs(t, <-causes, errBroken)
}
