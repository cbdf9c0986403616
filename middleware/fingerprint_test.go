package middleware_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	semelhttp "github.com/semel-go/semel/middleware"
)

// tellPath answers with the path that it sees.
func tellPath(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.Path) }

func TestKeyForAnotherRequestIsAMismatch(t *testing.T) {
	t.Parallel()
	s := inMemory(t).protect(t, tellPath, semelhttp.IdempotencyOptions{})
	json := []string{"Content-Type", "application/json"}
	for i, c := range []struct {
		path, body string
		header     []string
		same       bool
	}{
		{path: "/pay?b=2&a=1", body: "{}", header: json, same: true},
		{path: "/pay?a=1&b=2", body: "{}", header: json, same: true},
		{path: "/pay?%61=1&b=2", body: "{}", header: json, same: true},
		{path: "/pay?b=2&a=1", body: "{}", header: []string{"Content-Type", "Application/JSON; charset=utf-8"}, same: true},
		{path: "/pay?b=2&a=1", body: "{}", header: []string{"Content-Type", "application/json", "X-Trace", "2"}, same: true},
		{path: "/pay?b=2&a=1", body: "{}", header: []string{"Content-Type", "text/plain"}},
		{path: "/pay?b=2&a=1", body: "{}"},
		{path: "/pay?b=2&a=1", body: "{ }", header: json},
		{path: "/pay?b=2&a=1", header: json},
		{path: "/pay?b=2&a=2", body: "{}", header: json},
		{path: "/pay?b=2&a=1&a=1", body: "{}", header: json},
		{path: "/pay?b=2&a=1;", body: "{}", header: json},
		{path: "/pay", body: "{}", header: json},
		{path: "/pay/", body: "{}", header: json},
		{path: "/PAY?b=2&a=1", body: "{}", header: json},
		{path: "/p%61y?b=2&a=1", body: "{}", header: json},
	} {
		key := fmt.Sprint("k", i)
		require.False(t, s.post("/pay?b=2&a=1", key, "{}", json...).replayed())
		a := s.post(c.path, key, c.body, c.header...)
		if c.same {
			require.True(t, a.replayed(), "%v", c)
			continue
		}
		require.Equal(t, http.StatusUnprocessableEntity, a.status, "%v", c)
		require.Equal(t, semelhttp.CodeKeyMismatch, a.code(t))
	}
	require.False(t, s.post("/order?x=1&x=2", "order", "").replayed())
	require.Equal(t, semelhttp.CodeKeyMismatch, s.post("/order?x=2&x=1", "order", "").code(t))
	patch := s.do(s.request(http.MethodPatch, "/order?x=1&x=2", "order", nil))
	require.Equal(t, semelhttp.CodeKeyMismatch, patch.code(t), "another method")
	require.False(t, s.post("/p?a;b", "odd", "").replayed(), "a query that cannot be parsed")
	require.True(t, s.post("/p?a;b", "odd", "").replayed())
	require.Equal(t, semelhttp.CodeKeyMismatch, s.post("/p?b;a", "odd", "").code(t))
}

// One handler, reached by two prefixes that are cut off before or after the
// middleware, must not answer for both.
func TestWhatAMountCutsOffStillTellsRoutesApart(t *testing.T) {
	t.Parallel()
	guard := inMemory(t).guard(t, idempotency.Options{})
	once := semelhttp.Idempotency(guard, semelhttp.SharedScope(), semelhttp.IdempotencyOptions{})

	sub := chi.NewRouter()
	sub.With(once).Post("/pay", tellPath)
	router := chi.NewRouter()
	router.Mount("/chi-a", sub)
	router.Mount("/chi-b", sub)
	router.Group(func(r chi.Router) {
		r.Use(once)
		r.Post("/chi-c/pay", tellPath)
	})
	mux := http.NewServeMux()
	handler := once(http.HandlerFunc(tellPath))
	mux.Handle("/a/", http.StripPrefix("/a", handler))
	mux.Handle("/b/", http.StripPrefix("/b", handler))
	mux.Handle("/c/", once(http.StripPrefix("/c", http.HandlerFunc(tellPath))))
	mux.Handle("POST /x/{tenant}/pay", handler)
	mux.Handle("/", router)
	s := serve(t, mux)

	routes := []string{"/a/pay", "/b/pay", "/c/pay", "/x/t/pay", "/chi-a/pay", "/chi-b/pay", "/chi-c/pay"}
	for _, first := range routes {
		a := s.post(first, first, "")
		require.Equal(t, http.StatusOK, a.status, first)
		for _, second := range routes {
			b := s.post(second, first, "")
			if first == second {
				require.True(t, b.replayed(), first)
				require.Equal(t, a.body, b.body)
			} else {
				require.Equal(t, semelhttp.CodeKeyMismatch, b.code(t), "%s after %s", second, first)
			}
		}
	}
}

// Where the middleware is mounted must not change what a key means: a route may
// be moved while its keys live.
func TestRouteThatMovedKeepsItsKeys(t *testing.T) {
	t.Parallel()
	guard := inMemory(t).guard(t, idempotency.Options{})
	once := semelhttp.Idempotency(guard, semelhttp.SharedScope(), semelhttp.IdempotencyOptions{})
	var calls counter
	pay := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, calls.next()) })

	mux := http.NewServeMux()
	mux.Handle("POST /v1/pay", once(pay))
	stripped := http.StripPrefix("/v1", once(pay))
	used := chi.NewRouter()
	used.Use(once)
	used.Post("/v1/pay", pay)
	with := chi.NewRouter()
	with.With(once).Post("/{version}/pay", pay)
	sub := chi.NewRouter()
	sub.With(once).Post("/pay", pay)
	mounted := chi.NewRouter()
	mounted.Mount("/v1", sub)
	for i, handler := range []http.Handler{mux, stripped, used, with, mounted} {
		a := serve(t, handler).post("/v1/pay", "moving", "{}")
		require.Equal(t, http.StatusOK, a.status)
		require.Equal(t, i > 0, a.replayed())
	}
	require.Equal(t, 1, calls.total())
}

func TestTargetInAbsoluteFormIsTheSame(t *testing.T) {
	t.Parallel()
	s := inMemory(t).protect(t, tellPath, semelhttp.IdempotencyOptions{})
	send := func(target, key string) answer {
		return s.raw(fmt.Sprintf("POST %s HTTP/1.1\r\nHost: shop.example\r\nIdempotency-Key: %s\r\nContent-Length: 2\r\n\r\n{}", target, key))
	}
	require.False(t, send("/pay?a=1", "k").replayed())
	require.True(t, send("http://shop.example/pay?a=1", "k").replayed())
	require.True(t, send("http://shop.example:80/pay?a=1", "k").replayed())
	require.Equal(t, semelhttp.CodeKeyMismatch, send("http://shop.example/pay", "k").code(t))
	require.False(t, send("/?next=http://other/pay", "root").replayed())
	require.True(t, send("http://shop.example?next=http://other/pay", "root").replayed())
}

// A request that no server has read has no target as received.
func TestRequestFromTheSameProcess(t *testing.T) {
	t.Parallel()
	guard := inMemory(t).guard(t, idempotency.Options{})
	h := semelhttp.Idempotency(guard, semelhttp.SharedScope(), semelhttp.IdempotencyOptions{})(http.HandlerFunc(tellPath))
	send := func(url string) *httptest.ResponseRecorder {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, nil)
		require.NoError(t, err)
		r.Header.Set("Idempotency-Key", "k")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	require.Equal(t, http.StatusOK, send("http://shop.example/a").Code)
	require.Equal(t, "true", send("http://shop.example/a").Header().Get("Idempotent-Replayed"))
	require.Equal(t, http.StatusUnprocessableEntity, send("http://shop.example/b").Code)
}

func TestFingerprintOptionStandsForTheBody(t *testing.T) {
	t.Parallel()
	form := func(amount string) (contentType, body string) {
		var b bytes.Buffer
		w := multipart.NewWriter(&b) // with a fresh boundary
		require.NoError(t, w.WriteField("amount", amount))
		require.NoError(t, w.Close())
		return w.FormDataContentType(), b.String()
	}
	s := inMemory(t).protect(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.FormValue("amount"))
	}, semelhttp.IdempotencyOptions{
		Fingerprint: func(r *http.Request, body []byte) ([]byte, error) {
			if len(body) == 0 {
				return nil, errors.New("no form")
			}
			if err := r.ParseMultipartForm(1 << 20); err != nil {
				return nil, err
			}
			return []byte(r.PostForm.Encode()), nil
		},
	})
	send := func(key, amount string) answer {
		contentType, body := form(amount)
		return s.post("/", key, body, "Content-Type", contentType)
	}
	require.Equal(t, "12", send("k", "12").body)
	second := send("k", "12")
	require.True(t, second.replayed())
	require.Equal(t, "12", second.body)
	require.Equal(t, semelhttp.CodeKeyMismatch, send("k", "13").code(t))
	require.Equal(t, semelhttp.CodeBodyUnreadable, s.post("/", "free", "").code(t))
	require.Equal(t, "1", send("free", "1").body, "nothing was claimed")
	require.Equal(t, semelhttp.CodeBodyUnreadable, s.post("/", "none", strings.Repeat("x", 9)).code(t))
}
