package middleware_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	semelhttp "github.com/semel-go/semel/middleware"
)

// protocols are the servers of a handler behind Idempotency, by HTTP version.
func (e env) protocols(t *testing.T, handler http.HandlerFunc) map[int]*server {
	t.Helper()
	once := semelhttp.Idempotency(e.guard(t, idempotency.Options{}), semelhttp.SharedScope(), semelhttp.IdempotencyOptions{})
	two := &server{httptest.NewUnstartedServer(once(handler)), t}
	two.EnableHTTP2 = true
	two.StartTLS()
	t.Cleanup(two.Close)
	return map[int]*server{1: serve(t, once(handler)), 2: two}
}

// message is an answer with all that HTTP has around it.
type message struct {
	answer
	major    int
	length   int64
	trailer  http.Header
	interims []string // the 1xx before it, with their Link
}

// exchange sends a POST with a key and reads all of its answer.
func (s *server) exchange(path, key string, header ...string) message {
	s.t.Helper()
	var m message
	r := s.request(http.MethodPost, path, key, strings.NewReader("{}"))
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
			m.interims = append(m.interims, fmt.Sprint(code, " ", h.Get("Link")))
			return nil
		},
	}))
	res, err := s.Client().Do(r)
	require.NoError(s.t, err)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	m.answer = answer{res.StatusCode, res.Header, string(body)}
	m.major, m.length, m.trailer = res.ProtoMajor, res.ContentLength, res.Trailer
	return m
}

// A key is one over all versions of HTTP, and so is its answer.
func TestReplayOverAnotherVersionOfHTTP(t *testing.T) {
	eachStore(t, func(t *testing.T, env env) {
		var calls counter
		servers := env.protocols(t, func(w http.ResponseWriter, r *http.Request) {
			calls.next()
			h := w.Header()
			h.Set("Connection", "close, X-Hop")
			h.Set("X-Hop", "of this connection")
			h.Set("Location", "/payments/1")
			h["Link"] = []string{"</a>; rel=up", "</b>; rel=next"}
			h.Set("Content-Disposition", `attachment; filename="a, b.bin"`)
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write([]byte{0, 0xff, '\r', '\n', 0})
			_, _ = fmt.Fprint(w, r.ProtoMajor)
		})
		for _, first := range []int{1, 2} {
			key := fmt.Sprint("k", first)
			original := servers[first].exchange("/", key)
			require.Equal(t, first, original.major)
			require.Equal(t, fmt.Sprint("\x00\xff\r\n\x00", first), original.body)
			for again, s := range servers {
				replay := s.exchange("/", key)
				require.Equal(t, again, replay.major)
				require.True(t, replay.replayed())
				require.Empty(t, replay.header["X-Hop"])
				for _, h := range []http.Header{original.header, replay.header} {
					for _, name := range []string{"Connection", "X-Hop", "Date", "Content-Length", "Idempotent-Replayed"} {
						h.Del(name)
					}
				}
				require.Equal(t, original.answer, replay.answer)
				require.EqualValues(t, 6, replay.length)
			}
		}
		require.Equal(t, 2, calls.total())
	})
}

// Trailers come back as trailers, whichever way the handler set them.
func TestTrailersAreReplayed(t *testing.T) {
	eachStore(t, func(t *testing.T, env env) {
		servers := env.protocols(t, func(w http.ResponseWriter, r *http.Request) {
			h := w.Header()
			if r.URL.Path == "/declared" {
				h.Set("Trailer", "X-Sum, Set-Cookie")
			}
			_, _ = io.WriteString(w, "body")
			w.(http.Flusher).Flush()
			if r.URL.Path == "/declared" {
				h.Set("X-Sum", "4")
				h.Set("Set-Cookie", "secret=1")
				return
			}
			w.Header().Set(http.TrailerPrefix+"X-Sum", "4")
			w.Header().Set(http.TrailerPrefix+"Set-Cookie", "secret=1")
		})
		for major, s := range servers {
			for _, path := range []string{"/declared", "/prefix"} {
				key := fmt.Sprint(major, path)
				original := s.exchange(path, key)
				require.Equal(t, http.Header{"X-Sum": {"4"}, "Set-Cookie": {"secret=1"}}, original.trailer, key)
				for again, s := range servers {
					replay := s.exchange(path, key)
					require.Equal(t, again, replay.major)
					require.True(t, replay.replayed(), key)
					require.Equal(t, "body", replay.body)
					require.Equal(t, []string{"4"}, replay.trailer["X-Sum"], key)
					require.Empty(t, replay.trailer["Set-Cookie"], key)
					require.Empty(t, replay.header["X-Sum"], key)
				}
			}
		}
	})
}

func TestInterimAnswersAreNotTheAnswer(t *testing.T) {
	t.Parallel()
	servers := inMemory(t).protocols(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Link")
		w.WriteHeader(http.StatusProcessing)
		w.Header().Set("Location", "/payments/1")
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, "body")
	})
	for major, s := range servers {
		key := fmt.Sprint(major)
		original := s.exchange("/", key)
		require.Equal(t, []string{"103 </style.css>; rel=preload", "102 "}, original.interims)
		require.Equal(t, http.StatusCreated, original.status)
		replay := s.exchange("/", key)
		require.Empty(t, replay.interims)
		require.Empty(t, replay.header["Link"])
		requireReplay(t, original.answer, replay.answer)
	}
}

// What a handler asks of its connection through the middleware, it gets; what
// it does not get costs nothing.
func TestControllerReachesTheServer(t *testing.T) {
	t.Parallel()
	servers := inMemory(t).protocols(t, func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		later := time.Now().Add(time.Hour)
		err := errors.Join(c.EnableFullDuplex(), c.SetReadDeadline(later), c.SetWriteDeadline(later))
		_, _ = fmt.Fprint(w, err)
		err = c.Flush()
		if r.ProtoMajor == 2 {
			_, _, err = c.Hijack()
		}
		_, _ = fmt.Fprint(w, ", ", err, ", ", errors.Is(err, http.ErrNotSupported))
	})
	for major, want := range map[int]string{1: "<nil>, <nil>, false", 2: "<nil>, feature not supported, true"} {
		key := fmt.Sprint(major)
		require.Equal(t, want, servers[major].exchange("/", key).body)
		replay := servers[major].exchange("/", key)
		require.True(t, replay.replayed())
		require.Equal(t, want, replay.body)
	}
}

// A deadline that has passed ends what a client gets, and not the record.
func TestWriteDeadlineEndsTheSendingAlone(t *testing.T) {
	t.Parallel()
	var calls counter
	body := strings.Repeat("x", 100_000)
	s, over := inMemory(t).watch(t, func(w http.ResponseWriter, _ *http.Request) {
		calls.next()
		if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(-time.Second)); err != nil {
			panic(err)
		}
		if n, err := io.WriteString(w, body); n != len(body) || err != nil {
			panic(fmt.Sprint(n, err))
		}
	}, semelhttp.IdempotencyOptions{})
	_, err := s.fresh().try(s.request(http.MethodPost, "/", "k", nil))
	require.Error(t, err)
	<-over
	a := s.post("/", "k", "")
	require.True(t, a.replayed())
	require.Equal(t, body, a.body)
	require.Equal(t, 1, calls.total())
}

// A conversation on a connection that was taken over, as WebSockets are: with
// GET it is none of the middleware's business, with POST it happens once.
func TestUpgradedConnection(t *testing.T) {
	eachStore(t, func(t *testing.T, env env) {
		var calls counter
		s, over := env.watch(t, func(w http.ResponseWriter, _ *http.Request) {
			calls.next()
			conn, buf, err := http.NewResponseController(w).Hijack()
			if err != nil {
				panic(err)
			}
			defer func() { _ = conn.Close() }()
			_, _ = buf.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n")
			for {
				_ = buf.Flush()
				line, err := buf.ReadString('\n')
				if err != nil {
					return
				}
				_, _ = buf.WriteString("you said " + line)
			}
		}, semelhttp.IdempotencyOptions{})
		for n, method := range []string{"GET", "GET", "POST"} {
			conn, in := s.dial()
			_, err := fmt.Fprintf(conn, "%s / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: echo\r\nIdempotency-Key: k\r\n\r\n", method)
			require.NoError(t, err)
			res, err := http.ReadResponse(in, nil)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			require.Equal(t, http.StatusSwitchingProtocols, res.StatusCode)
			for _, word := range []string{"one\n", "two\n"} {
				_, err = io.WriteString(conn, word)
				require.NoError(t, err)
				line, err := in.ReadString('\n')
				require.NoError(t, err)
				require.Equal(t, "you said "+word, line)
			}
			require.NoError(t, conn.Close())
			<-over
			require.Equal(t, n+1, calls.total())
		}
		requireTombstone(t, s.post("/", "k", ""), http.StatusSwitchingProtocols)
		require.Equal(t, 3, calls.total())
	})
}

func TestServeContent(t *testing.T) {
	t.Parallel()
	var calls counter
	s := inMemory(t).protect(t, func(w http.ResponseWriter, r *http.Request) {
		calls.next()
		w.Header().Set("ETag", `"v1"`)
		http.ServeContent(w, r, "report.csv", time.Unix(1_700_000_000, 0), strings.NewReader("0123456789"))
	}, semelhttp.IdempotencyOptions{})
	first := s.post("/", "whole", "")
	require.Equal(t, http.StatusOK, first.status)
	require.Equal(t, "0123456789", first.body)
	require.Equal(t, `"v1"`, first.header.Get("ETag"))
	requireReplay(t, first, s.post("/", "whole", ""))

	first = s.post("/", "part", "", "Range", "bytes=2-4")
	require.Equal(t, http.StatusPartialContent, first.status)
	require.Equal(t, "234", first.body)
	require.Equal(t, "bytes 2-4/10", first.header.Get("Content-Range"))
	requireReplay(t, first, s.post("/", "part", "", "Range", "bytes=2-4"))

	first = s.post("/", "parts", "", "Range", "bytes=0-1,8-9")
	require.Equal(t, http.StatusPartialContent, first.status)
	require.Contains(t, first.header.Get("Content-Type"), "multipart/byteranges; boundary=")
	requireReplay(t, first, s.post("/", "parts", "", "Range", "bytes=0-1,8-9"))
	require.Equal(t, 3, calls.total())

	// Conditions are the handler's, and what it refuses for them is no outcome.
	require.Equal(t, http.StatusPreconditionFailed, s.post("/", "if", "", "If-Match", `"v0"`).status)
	a := s.post("/", "if", "", "If-Match", `"v1"`)
	require.Equal(t, http.StatusOK, a.status)
	require.False(t, a.replayed())
}

// A proxy in front, to which a client repeats what it repeats to another.
func TestReverseProxyInFront(t *testing.T) {
	eachStore(t, func(t *testing.T, env env) {
		var calls counter
		s := env.protect(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Trailer", "X-Sum")
			w.WriteHeader(http.StatusCreated)
			_, _ = fmt.Fprintf(w, "payment %d: ", calls.next())
			_, _ = io.Copy(w, r.Body)
			w.Header().Set("X-Sum", "1")
		}, semelhttp.IdempotencyOptions{})
		front := serve(t, proxyTo(t, s))
		original := front.exchange("/pay?a=1", "k")
		require.Equal(t, "payment 1: {}", original.body)
		for _, s := range []*server{front, s, serve(t, proxyTo(t, front))} {
			replay := s.exchange("/pay?a=1", "k")
			require.True(t, replay.replayed())
			require.Equal(t, http.StatusCreated, replay.status)
			require.Equal(t, original.body, replay.body)
			require.Equal(t, http.Header{"X-Sum": {"1"}}, replay.trailer)
		}
		require.Equal(t, semelhttp.CodeKeyMismatch, front.exchange("/pay?a=2", "k").code(t))
		require.Equal(t, 1, calls.total())
	})
}

// dial returns a connection to the server, and its reader.
func (s *server) dial() (net.Conn, *bufio.Reader) {
	s.t.Helper()
	conn, err := (&net.Dialer{}).DialContext(s.t.Context(), "tcp", s.Listener.Addr().String())
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = conn.Close() })
	return conn, bufio.NewReader(conn)
}

// The bytes of an answer and of its replay, where clients that take things to
// the letter would see a difference.
func TestReplayToTheByte(t *testing.T) {
	t.Parallel()
	s := inMemory(t).protect(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header()["x-Odd-CASE"] = []string{"1"}
		switch r.URL.Path {
		case "/empty":
		case "/204":
			w.WriteHeader(http.StatusNoContent)
		case "/304":
			w.Header().Set("ETag", `"v1"`)
			w.WriteHeader(http.StatusNotModified)
		case "/sniffed":
			_, _ = io.WriteString(w, "<html>")
		case "/untyped":
			w.Header()["Content-Type"] = nil
			_, _ = io.WriteString(w, "<html>")
		}
	}, semelhttp.IdempotencyOptions{})
	for _, path := range []string{"/empty", "/204", "/304", "/sniffed", "/untyped"} {
		var heads [][]string
		var bodies []string
		for range 2 {
			conn, in := s.dial()
			_, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nIdempotency-Key: %s\r\nContent-Length: 0\r\n\r\n", path, path)
			require.NoError(t, err)
			text, err := io.ReadAll(in)
			require.NoError(t, err)
			head, body, _ := strings.Cut(string(text), "\r\n\r\n")
			lines := slices.DeleteFunc(strings.Split(head, "\r\n"), func(line string) bool { return strings.HasPrefix(line, "Date: ") })
			heads, bodies = append(heads, lines), append(bodies, body)
		}
		require.Contains(t, heads[0], "x-Odd-CASE: 1", path)
		require.ElementsMatch(t, append(heads[0], "Idempotent-Replayed: true"), heads[1], path)
		require.Equal(t, bodies[0], bodies[1], path)
	}
}
