package response_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/response"
)

// below sees all that reaches the writer below a recorder.
type below struct {
	*httptest.ResponseRecorder
	calls []string
}

func (b *below) WriteHeader(int) { b.calls = append(b.calls, "header") }
func (b *below) Write(p []byte) (int, error) {
	b.calls = append(b.calls, string(p))
	return len(p), nil
}
func (b *below) WriteString(s string) (int, error) { b.calls = append(b.calls, s); return len(s), nil }
func (b *below) Flush()                            { b.calls = append(b.calls, "flush") }

// TestHoldBack shows that nothing at all goes out before Send, and then the same
// answer as without.
func TestHoldBack(t *testing.T) {
	t.Parallel()
	b, r := &below{ResponseRecorder: httptest.NewRecorder()}, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
	rec := response.NewRecorder(b, r, response.Options{HoldBack: true})
	rec.Header().Set("X-Own", "1")
	rec.WriteHeader(http.StatusEarlyHints)
	rec.WriteHeader(http.StatusCreated)
	say(rec, "ab")
	require.NoError(t, rec.FlushError())
	say(rec, "cd")
	recorded := rec.Finish()
	data := recorded.Encode()
	require.Empty(t, b.calls)
	require.Empty(t, b.Header())
	require.NoError(t, rec.Send())
	require.NoError(t, rec.Send(), "a second time is none")
	require.Equal(t, []string{"header", "abcd"}, b.calls)
	require.Equal(t, http.Header{"X-Own": {"1"}, "Content-Type": {"text/plain; charset=utf-8"}, "Content-Length": {"4"}}, b.Header())
	again, err := response.Decode(data)
	require.NoError(t, err)
	require.Equal(t, recorded, again)

	for name, handler := range map[string]http.HandlerFunc{
		"nothing": func(http.ResponseWriter, *http.Request) {},
		"large":   func(w http.ResponseWriter, _ *http.Request) { fill(w, 100_000) },
		"trailers": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "X-Sum")
			say(w, "x")
			w.Header().Set("X-Sum", "1")
		},
		"cookie": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Set-Cookie", "a=b") },
	} {
		var answers []answer
		for _, hold := range []bool{false, true} {
			tp := newTape(handler)
			tp.options.HoldBack = hold
			got := ask(t, serve(t, tp), "POST", "/", "")
			require.True(t, tp.recorded().Whole)
			for _, h := range []string{"Date", "Content-Length"} {
				got.header.Del(h)
			}
			got.chunked, got.length = false, 0
			answers = append(answers, got)
		}
		require.Equal(t, answers[0], answers[1], name)
	}
}

// TestHoldBackEnds shows that an answer that outgrows the limit is streamed on
// from where it is.
func TestHoldBackEnds(t *testing.T) {
	t.Parallel()
	b, r := &below{ResponseRecorder: httptest.NewRecorder()}, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
	rec := response.NewRecorder(b, r, response.Options{HoldBack: true, Limit: 3})
	say(rec, "ab")
	say(rec, "c")
	require.Empty(t, b.calls)
	say(rec, "d")
	rec.Flush()
	require.Equal(t, []string{"header", "abc", "d", "flush"}, b.calls)
	require.False(t, rec.Finish().Whole)
	require.NoError(t, rec.Send())
	require.Len(t, b.calls, 4)
}

// TestDropBody shows that such an answer loses its body instead.
func TestDropBody(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{
		"large": func(w http.ResponseWriter, _ *http.Request) { fill(w, 100_000) },
		"declared": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100000")
			fill(w, 100_000)
		},
		"events": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Content-Encoding", "identity")
			say(w, "data: 1\n\n")
			w.(http.Flusher).Flush()
		},
		"trailers": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "X-Sum")
			w.Header().Set(http.TrailerPrefix+"X-Unannounced", "1")
			fill(w, 100_000)
			w.Header().Set("X-Sum", "1")
		},
	} {
		tp := newTape(func(w http.ResponseWriter, r *http.Request) {
			if _, _, err := http.NewResponseController(w).Hijack(); err == nil {
				panic("hijacked")
			}
			w.Header().Set("X-Own", "1")
			handler(w, r)
		})
		tp.options = response.Options{HoldBack: true, DropBody: true, Limit: 10_000}
		addr := serve(t, tp)
		got := raw(t, addr, "POST", "/", "")
		header, body, _ := strings.Cut(got, "\r\n\r\n")
		require.True(t, strings.HasPrefix(header, "HTTP/1.1 200 OK\r\n"), name)
		require.Contains(t, header, "X-Own: 1", name)
		require.Contains(t, header, "Content-Length: 0", name)
		require.NotContains(t, header, "Content-Type", name)
		require.NotContains(t, header, "Trailer", name)
		require.Empty(t, body, name)
		require.False(t, tp.recorded().Whole, name)
		require.NoError(t, tp.sent)

		replay := ask(t, addr, "POST", "/replay", "")
		require.Equal(t, http.StatusOK, replay.status, name)
		require.Empty(t, replay.body, name)
	}
}
