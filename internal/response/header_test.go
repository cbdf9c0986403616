package response_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/response"
)

func discard() *log.Logger { return log.New(io.Discard, "", 0) }

// TestReplayEqualsOriginal asks for answers of every shape twice.
func TestReplayEqualsOriginal(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{
		"created": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/payments/7")
			w.Header().Set("Etag", `"v1"`)
			w.Header().Add("Link", `</a>; rel="a"`)
			w.Header().Add("Link", `</b>; rel="b", </c>; rel="c"`)
			w.Header().Set("Content-Disposition", `attachment; filename="a,b.pdf"`)
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Retry-After", "5")
			w.WriteHeader(http.StatusCreated)
			say(w, `{"id":7}`)
		},
		"nothing":    func(http.ResponseWriter, *http.Request) {},
		"no content": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"not modified": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Etag", `W/"v1"`)
			w.WriteHeader(http.StatusNotModified)
		},
		"empty":        func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) },
		"sniffed html": func(w http.ResponseWriter, _ *http.Request) { say(w, "<html><p>x") },
		"sniffed binary": func(w http.ResponseWriter, _ *http.Request) {
			say(w, "\x89PNG\r\n\x1a\n\x00")
		},
		"sniffed in parts": func(w http.ResponseWriter, _ *http.Request) {
			say(w, "<ht")
			say(w, "ml><p>x")
		},
		"sniffed when flushed": func(w http.ResponseWriter, _ *http.Request) {
			say(w, "<ht")
			http.NewResponseController(w).Flush()
			say(w, "ml><p>x")
		},
		"flushed before any byte": func(w http.ResponseWriter, _ *http.Request) {
			http.NewResponseController(w).Flush()
			say(w, "<html>")
		},
		"no type": func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			say(w, "<html>")
		},
		"coded, so not sniffed": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			say(w, "<html>")
		},
		"keys as they come": func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["x-lower"] = []string{"a", "b"}
			say(w, "x")
		},
		"chunked": func(w http.ResponseWriter, _ *http.Request) {
			for range 100 {
				say(w, strings.Repeat("chunk", 100))
			}
		},
		"copied after the header": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusCreated)
			fill(w, 100_000)
		},
		"served content": func(w http.ResponseWriter, r *http.Request) {
			http.ServeContent(w, r, "a.txt", fixedTime(), strings.NewReader(strings.Repeat("content ", 5000)))
		},
		"header changed too late": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusOK)
			w.Header().Set("X-Late", "1")
			w.WriteHeader(http.StatusTeapot)
			say(w, "x")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			original, replay := requireSame(t, newTape(handler))
			require.NotContains(t, original.header, "X-Late")
			require.False(t, replay.chunked, "all of a replay is known")
			if replay.status != http.StatusNoContent && replay.status != http.StatusNotModified {
				require.EqualValues(t, len(replay.body), replay.length)
			}
		})
	}
}

// TestReplayBytes holds a replay against what must be on the wire.
func TestReplayBytes(t *testing.T) {
	t.Parallel()
	tp := newTape(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Date"] = []string{"never"}
		w.Header().Add("Link", "</a>")
		w.Header().Add("Link", "</b>, </c>")
		w.WriteHeader(http.StatusCreated)
		say(w, "{}")
	})
	tp.outer = func(h http.Header, _ *http.Request) { h["Date"] = nil }
	addr := serve(t, tp)
	raw(t, addr, "POST", "/", "")
	require.Equal(t, "HTTP/1.1 201 Created\r\n"+
		"Content-Length: 2\r\n"+
		"Content-Type: text/plain; charset=utf-8\r\n"+
		"Idempotent-Replayed: true\r\n"+
		"Link: </a>\r\n"+
		"Link: </b>, </c>\r\n"+
		"Connection: close\r\n\r\n{}", raw(t, addr, "POST", "/replay", ""))
}

// TestPrivate shows that nothing of what belongs to one caller or connection is
// recorded, however it is spelled.
func TestPrivate(t *testing.T) {
	t.Parallel()
	private := []string{
		"Set-Cookie", "Www-Authenticate", "Proxy-Authenticate", "Proxy-Authorization", "Authentication-Info",
		"Proxy-Authentication-Info", "Clear-Site-Data", "Connection", "Keep-Alive", "TE", "Trailer",
		"Transfer-Encoding", "Upgrade", "Proxy-Connection", "Date", "Age",
		"Access-Control-Allow-Origin", "Access-Control-Anything", "RateLimit", "RateLimit-Policy", "X-RateLimit-Remaining",
		"Traceparent", "Tracestate", "X-Request-ID", "X-Correlation-ID", "X-Amzn-Trace-Id", "X-B3-TraceId", "B3",
		"Server-Timing", "Idempotent-Replayed", "X-Hop", "X-Secret", "X-Internal-Anything", "Content-Length",
	}
	for _, spell := range []func(string) string{http.CanonicalHeaderKey, strings.ToLower, strings.ToUpper} {
		w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
		w.Header().Set("X-Correlation-Id", "outer")
		rec := response.NewRecorder(w, r, response.Options{Drop: []string{"x-secret", "X-INTERNAL-*"}})
		rec.Header().Del("X-Correlation-Id")
		for _, name := range private {
			rec.Header()[spell(name)] = []string{"1"}
		}
		rec.Header()[spell("Connection")] = []string{"x-hop"}
		rec.Header()[spell("X-Kept")] = []string{"1"}
		rec.Header()[spell("Retry-After")] = []string{"1"}
		rec.WriteHeader(http.StatusNoContent)
		require.Contains(t, w.Header(), spell("Set-Cookie"), "the first caller gets it")

		recorded := rec.Finish()
		require.Equal(t, http.Header{spell("X-Kept"): {"1"}, spell("Retry-After"): {"1"}}, recorded.Header())
		require.Len(t, recorded.Changes, 2, "nor is its removal recorded")
	}
}

// TestOverlay shows that a replay is laid over what outer middleware prepares for
// the later request.
func TestOverlay(t *testing.T) {
	t.Parallel()
	tp := newTape(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store") // changed
		h.Add("Vary", "Accept")            // added
		h.Add("Content-Security-Policy", "sandbox")
		h.Del("X-Frame-Options") // removed
		h.Set("X-Same", "same")  // said again
		h["X-Parts"][0] = "changed in place"
		say(w, "x")
	})
	tp.outer = func(h http.Header, r *http.Request) {
		of := r.URL.Path
		h.Set("Cache-Control", "private")
		h.Set("Vary", "Origin")
		h.Set("Content-Security-Policy", "nonce-"+of)
		h.Set("X-Frame-Options", "DENY")
		h.Set("X-Csp-Nonce", of)
		h.Set("X-Same", "same")
		h["X-Parts"] = []string{"a", "b"}
	}
	addr := serve(t, tp)
	for _, path := range []string{"/", "/replay"} {
		h := ask(t, addr, "POST", path, "").header
		require.Equal(t, []string{"no-store"}, h["Cache-Control"])
		require.Equal(t, []string{"Origin", "Accept"}, h["Vary"])
		require.Equal(t, []string{"nonce-" + path, "sandbox"}, h["Content-Security-Policy"])
		require.NotContains(t, h, "X-Frame-Options")
		require.Equal(t, []string{path}, h["X-Csp-Nonce"])
		require.Equal(t, []string{"changed in place", "b"}, h["X-Parts"])
	}
	require.Equal(t, "", tp.recorded().Get("X-Same"), "what was not changed is not the handler's")
}

// TestHeaderOwn shows that the handler's map is its own until it sends it, and
// that what it sent is a copy.
func TestHeaderOwn(t *testing.T) {
	t.Parallel()
	w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
	w.Header().Set("X-Outer", "1")
	rec := response.NewRecorder(w, r, response.Options{})
	values := []string{"a"}
	rec.Header()["X-Own"] = values
	rec.Header().Del("X-Outer")
	require.Equal(t, http.Header{"X-Outer": {"1"}}, w.Header())
	rec.WriteHeader(http.StatusOK)
	values[0] = "changed"
	require.Equal(t, http.Header{"X-Own": {"a"}}, w.Header())
	w.Header()["X-Own"][0] = "changed by a writer outside"
	require.Equal(t, "a", rec.Finish().Get("x-own"))
}

// TestHeaderTooLarge shows that an answer whose header is out of all proportion
// is sent, and not kept.
func TestHeaderTooLarge(t *testing.T) {
	t.Parallel()
	for name, values := range map[string][]string{
		"one":  {strings.Repeat("x", 64<<10)},
		"many": make([]string, 20_000),
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
		rec := response.NewRecorder(w, r, response.Options{})
		rec.Header().Set("Location", "/here")
		rec.Header()["X-Large"] = values
		rec.WriteHeader(http.StatusCreated)
		recorded := rec.Finish()
		require.False(t, recorded.Whole, name)
		require.Len(t, w.Header()["X-Large"], len(values), name)
		again, err := response.Decode(recorded.Encode())
		require.NoError(t, err, name)
		require.Equal(t, http.Header{"Location": {"/here"}}, again.Header(), name)

		rec = response.NewRecorder(w, r, response.Options{})
		rec.Header()["Location"] = values
		again, err = response.Decode(rec.Finish().Encode())
		require.NoError(t, err, name)
		require.Empty(t, again.Changes, name)
	}
}
