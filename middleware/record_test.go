package middleware_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	semelhttp "github.com/semel-go/semel/middleware"
)

func TestAnswerThatIsNotRetained(t *testing.T) {
	eachStore(t, func(t *testing.T, env env) {
		var calls counter
		large := strings.Repeat("x", 1000)
		for _, limit := range []int{10, semelhttp.NoBody} {
			s := env.protect(t, func(w http.ResponseWriter, _ *http.Request) {
				calls.next()
				w.Header().Set("Location", "/payments/1")
				w.WriteHeader(http.StatusCreated)
				_, _ = io.WriteString(w, large)
			}, semelhttp.IdempotencyOptions{MaxResponse: limit})
			key := fmt.Sprint(limit)
			began := time.Now()
			require.Equal(t, large, s.post("/", key, "").body, "the first caller gets all")
			a := s.post("/", key, "")
			p := a.problem(t)
			require.Equal(t, http.StatusConflict, a.status)
			require.Equal(t, semelhttp.CodeResultNotRetained, p.Code)
			require.Equal(t, http.StatusCreated, p.OriginalStatus)
			require.Equal(t, "/payments/1", p.Location)
			require.Equal(t, "/payments/1", a.header.Get("Location"))
			require.WithinRange(t, p.CompletedAt, began.Add(-time.Second), time.Now().Add(time.Second))
			require.Empty(t, a.header["Retry-After"])
		}
		require.Equal(t, 2, calls.total())
	})
}

func TestNoBodyStillReplaysWhatHasNone(t *testing.T) {
	t.Parallel()
	s := inMemory(t).protect(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/204" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		_, _ = io.WriteString(w, "x")
	}, semelhttp.IdempotencyOptions{MaxResponse: semelhttp.NoBody})
	require.Equal(t, http.StatusNoContent, s.post("/204", "a", "").status)
	require.True(t, s.post("/204", "a", "").replayed())
	require.Equal(t, "x", s.post("/", "b", "").body)
	require.Equal(t, semelhttp.CodeResultNotRetained, s.post("/", "b", "").code(t))
}

// A full body and a full header fit into one record.
func TestLargestAnswerIsRetained(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("x", 256<<10)
	s := inMemory(t).protect(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Large", strings.Repeat("h", 60_000))
		_, _ = io.WriteString(w, body)
	}, semelhttp.IdempotencyOptions{})
	require.Equal(t, body, s.post("/", "k", "").body)
	a := s.post("/", "k", "")
	require.True(t, a.replayed())
	require.Equal(t, body, a.body)
	require.Len(t, a.header.Get("X-Large"), 60_000)
}

func TestDroppedHeadersAreNotReplayed(t *testing.T) {
	t.Parallel()
	s := inMemory(t).protect(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Shard", "7")
		w.Header().Set("X-Kept", "yes")
		w.Header().Set("Set-Cookie", "secret=1")
	}, semelhttp.IdempotencyOptions{DropHeaders: []string{"x-shard"}})
	require.Equal(t, "7", s.post("/", "k", "").header.Get("X-Shard"))
	a := s.post("/", "k", "")
	require.True(t, a.replayed())
	require.Empty(t, a.header["X-Shard"])
	require.Empty(t, a.header["Set-Cookie"])
	require.Equal(t, "yes", a.header.Get("X-Kept"))
}

func TestEncodingThatTheRetryDoesNotAccept(t *testing.T) {
	t.Parallel()
	s := inMemory(t).protect(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/br" {
			w.Header().Set("Content-Encoding", "br")
			_, _ = io.WriteString(w, "not really")
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, "plain")
		_ = z.Close()
	}, semelhttp.IdempotencyOptions{})
	require.Equal(t, "not really", s.post("/br", "br", "", "Accept-Encoding", "br").body)
	a := s.post("/br", "br", "", "Accept-Encoding", "identity")
	require.Equal(t, http.StatusNotAcceptable, a.status)
	require.Equal(t, semelhttp.CodeEncodingNotAcceptable, a.code(t))
	require.Empty(t, a.header["Content-Encoding"])
	require.True(t, s.post("/br", "br", "", "Accept-Encoding", "br").replayed())

	first := s.post("/gzip", "gzip", "", "Accept-Encoding", "gzip")
	z, err := gzip.NewReader(bytes.NewReader([]byte(first.body)))
	require.NoError(t, err)
	plain, err := io.ReadAll(z)
	require.NoError(t, err)
	require.Equal(t, "plain", string(plain))
	a = s.post("/gzip", "gzip", "", "Accept-Encoding", "identity")
	require.True(t, a.replayed())
	require.Equal(t, "plain", a.body)
}

// What another has recorded under one of our keys is not ours to replay.
func TestForeignRecordIsNotReplayed(t *testing.T) {
	t.Parallel()
	env := inMemory(t)
	guard := env.guard(t, idempotency.Options{})
	s := serve(t, semelhttp.Idempotency(guard, func(*http.Request) (string, error) { return "t", nil },
		semelhttp.IdempotencyOptions{})(http.HandlerFunc(tellPath)))
	require.Equal(t, http.StatusOK, s.post("/", "ours", "").status)
	ours, err := guard.Run(t.Context(), idempotency.Key{Scope: idempotency.Scope("http", "t"), ID: "ours"}, idempotency.RunOptions{},
		func(context.Context) (idempotency.Result, error) { return idempotency.Result{}, errBroken })
	require.NoError(t, err)
	for id, record := range map[string]func() (idempotency.Result, error){
		"codec": func() (idempotency.Result, error) {
			return idempotency.Result{Codec: "http9", Data: ours.Result.Data}, nil
		},
		"damaged": func() (idempotency.Result, error) { return idempotency.Result{Codec: "http1", Data: []byte(`1`)}, nil },
		"empty":   func() (idempotency.Result, error) { return idempotency.Result{}, nil },
		"final":   func() (idempotency.Result, error) { return idempotency.Result{}, idempotency.Final(errBroken) },
	} {
		_, _ = guard.Run(t.Context(), idempotency.Key{Scope: idempotency.Scope("http", "t"), ID: id}, idempotency.RunOptions{},
			func(context.Context) (idempotency.Result, error) { return record() })
		p := s.post("/", id, "").problem(t)
		require.Equal(t, semelhttp.CodeResultNotRetained, p.Code, id)
		require.Zero(t, p.OriginalStatus)
		require.False(t, p.CompletedAt.IsZero())
	}
}

func TestOnReplayAuthorisesOnceMore(t *testing.T) {
	t.Parallel()
	s := inMemory(t).protect(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "large enough to be dropped")
	}, semelhttp.IdempotencyOptions{
		MaxResponse: 5,
		OnReplay: func(r *http.Request) error {
			body, err := io.ReadAll(r.Body)
			if err != nil || string(body) != "body" {
				return errors.New("the body is gone")
			}
			switch r.Header.Get("Caller") {
			case "stranger":
				return errors.New("a secret")
			case "nobody":
				return semelhttp.ErrNoPrincipal
			}
			return nil
		},
	})
	require.Equal(t, http.StatusOK, s.post("/", "k", "body", "Caller", "stranger").status, "it is no replay")
	a := s.post("/", "k", "body", "Caller", "stranger")
	require.Equal(t, http.StatusForbidden, a.status)
	p := a.problem(t)
	require.Equal(t, semelhttp.CodeReplayRefused, p.Code)
	require.Zero(t, p.OriginalStatus)
	require.NotContains(t, a.body, "secret")
	a = s.post("/", "k", "body", "Caller", "nobody")
	require.Equal(t, http.StatusUnauthorized, a.status)
	require.Equal(t, semelhttp.CodeReplayRefused, a.code(t))
	require.Equal(t, semelhttp.CodeResultNotRetained, s.post("/", "k", "body").code(t), "the record is untouched")
	require.Equal(t, semelhttp.CodeKeyMismatch, s.post("/", "k", "other", "Caller", "nobody").code(t))
}

// Who takes the connection over has begun what a retry must not begin again,
// whatever statuses are stored.
func TestHijackedConnectionIsNotTakenTwice(t *testing.T) {
	t.Parallel()
	var calls counter
	s := inMemory(t).protect(t, func(w http.ResponseWriter, _ *http.Request) {
		calls.next()
		conn, buf, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = buf.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")
		_ = buf.Flush()
		_ = conn.Close()
	}, semelhttp.IdempotencyOptions{Store: semelhttp.SuccessOnly})
	a := s.post("/", "k", "")
	require.Equal(t, http.StatusSwitchingProtocols, a.status)
	require.Eventually(t, func() bool { // the connection is closed before the handler returns
		a = s.post("/", "k", "")
		return a.code(t) != semelhttp.CodeInProgress
	}, 10*time.Second, time.Millisecond)
	p := a.problem(t)
	require.Equal(t, semelhttp.CodeResultNotRetained, p.Code)
	require.Equal(t, http.StatusSwitchingProtocols, p.OriginalStatus)
	require.Equal(t, 1, calls.total())
}
