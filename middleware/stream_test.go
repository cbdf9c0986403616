package middleware_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	semelhttp "github.com/semel-go/semel/middleware"
)

// watch is protect, and tells of each request when the middleware is through
// with it: a client may have its whole answer before.
func (e env) watch(t *testing.T, handler http.HandlerFunc, o semelhttp.IdempotencyOptions) (s *server, over <-chan struct{}) {
	t.Helper()
	done := make(chan struct{}, 100)
	protected := semelhttp.Idempotency(e.guard(t, idempotency.Options{}), semelhttp.SharedScope(), o)(handler)
	return serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { done <- struct{}{} }()
		protected.ServeHTTP(w, r)
	})), done
}

// begin sends a POST with a key on a connection of its own, and returns the body
// of the answer when its header is here, and what closes the connection.
func (s *server) begin(path, key string) (hangUp func(), body io.Reader) {
	s.t.Helper()
	conn, in := s.dial()
	_, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nIdempotency-Key: %s\r\nContent-Length: 0\r\n\r\n", path, key)
	require.NoError(s.t, err)
	res, err := http.ReadResponse(in, nil)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = res.Body.Close() })
	return func() { require.NoError(s.t, conn.Close()) }, res.Body
}

// requireTombstone requires the answer about a completed request whose own
// answer was not kept.
func requireTombstone(t *testing.T, a answer, original int) {
	t.Helper()
	p := a.problem(t)
	require.Equal(t, http.StatusConflict, a.status)
	require.Equal(t, semelhttp.CodeResultNotRetained, p.Code)
	require.Equal(t, original, p.OriginalStatus)
	require.False(t, p.CompletedAt.IsZero())
	require.Empty(t, a.header["Retry-After"])
}

// No write waits for a later one, nor for the record.
func TestFirstByteArrivesBeforeTheNextWrite(t *testing.T) {
	eachStore(t, func(t *testing.T, env env) {
		read := make(chan struct{})
		s, over := env.watch(t, func(w http.ResponseWriter, _ *http.Request) {
			for _, c := range "abc" {
				_, _ = fmt.Fprintf(w, "%c", c)
				w.(http.Flusher).Flush()
				<-read
			}
		}, semelhttp.IdempotencyOptions{})
		_, body := s.begin("/", "k")
		for _, c := range []byte("abc") {
			var b [1]byte
			_, err := io.ReadFull(body, b[:])
			require.NoError(t, err)
			require.Equal(t, c, b[0])
			require.Equal(t, semelhttp.CodeInProgress, s.post("/", "k", "").code(t), "it is not over")
			<-over
			read <- struct{}{}
		}
		<-over
		a := s.post("/", "k", "")
		require.True(t, a.replayed())
		require.Equal(t, "abc", a.body)
	})
}

// An event stream goes through as it comes, and is over when it is over.
func TestEventStreamLeavesATombstone(t *testing.T) {
	eachStore(t, func(t *testing.T, env env) {
		var calls counter
		read := make(chan struct{})
		s, over := env.watch(t, func(w http.ResponseWriter, _ *http.Request) {
			calls.next()
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			for n := range 3 {
				_, _ = fmt.Fprintf(w, "data: %d\n\n", n)
				_ = http.NewResponseController(w).Flush()
				<-read
			}
		}, semelhttp.IdempotencyOptions{})
		_, body := s.begin("/", "k")
		events := bufio.NewReader(body)
		for n := range 3 {
			line, err := events.ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, fmt.Sprintf("data: %d\n", n), line)
			_, err = events.ReadString('\n')
			require.NoError(t, err)
			read <- struct{}{}
		}
		<-over
		requireTombstone(t, s.post("/", "k", ""), http.StatusOK)
		require.Equal(t, 1, calls.total())
	})
}

// A stream whose client has gone ends, for nobody will ever see the rest.
func TestEventStreamEndsWithItsClient(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	s, over := inMemory(t).watch(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			if _, err := io.WriteString(w, "data: x\n\n"); err != nil {
				ended <- err
				return
			}
		}
	}, semelhttp.IdempotencyOptions{})
	hangUp, _ := s.begin("/", "k")
	hangUp()
	require.Error(t, <-ended)
	<-over
	requireTombstone(t, s.post("/", "k", ""), http.StatusOK)
}

// The default limit of a request is a limit to the byte, however it comes.
func TestLargeUploads(t *testing.T) {
	eachStore(t, func(t *testing.T, env env) {
		var calls counter
		s := env.protect(t, func(w http.ResponseWriter, r *http.Request) {
			calls.next()
			sum := sha256.New()
			n, err := io.Copy(sum, r.Body)
			if err != nil {
				panic(err)
			}
			_, _ = fmt.Fprintf(w, "%d %x", n, sum.Sum(nil))
		}, semelhttp.IdempotencyOptions{}).fresh()
		upload := bytes.Repeat([]byte("0123456789abcdef"), 1<<16+1)
		for name, wrap := range map[string]func(io.Reader) io.Reader{
			"declared": func(r io.Reader) io.Reader { return r },
			"chunked":  func(r io.Reader) io.Reader { return struct{ io.Reader }{r} },
		} {
			send := func(size int) answer {
				return s.do(s.request(http.MethodPost, "/", name, wrap(bytes.NewReader(upload[:size]))))
			}
			if name == "chunked" {
				require.Equal(t, semelhttp.CodeBodyTooLarge, send(1<<20+1).code(t))
			} else { // a server that hangs up on what it will not read can reset the answer away, too
				head := fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\nIdempotency-Key: %s\r\nContent-Length: %d\r\n\r\n", name, 1<<20+1)
				require.Equal(t, semelhttp.CodeBodyTooLarge, s.raw(head).code(t))
			}
			first := send(1 << 20)
			require.Equal(t, fmt.Sprintf("%d %x", 1<<20, sha256.Sum256(upload[:1<<20])), first.body, name)
			require.False(t, first.replayed())
			require.Equal(t, first.body, send(1<<20).body)
			require.Equal(t, semelhttp.CodeKeyMismatch, send(1<<20-1).code(t), name)
		}
		require.Equal(t, 2, calls.total())
	})
}

// largeAnswer returns 10 MiB, more than any connection buffers.
func largeAnswer() string { return strings.Repeat("0123456789abcdef", 10<<16) }

// writers are ways to send it, in two parts. between is called after the first.
func writers(large string) map[string]func(w http.ResponseWriter, between func()) error {
	parts := []string{large[:1<<20], large[1<<20:]}
	return map[string]func(w http.ResponseWriter, between func()) error{
		"copy": func(w http.ResponseWriter, between func()) error {
			pause := readerFunc(func([]byte) (int, error) { between(); return 0, io.EOF })
			// No WriterTo, so that it is ReadFrom that copies.
			n, err := io.Copy(w, struct{ io.Reader }{io.MultiReader(strings.NewReader(parts[0]), pause, strings.NewReader(parts[1]))})
			if err == nil && n != int64(len(large)) {
				return io.ErrShortWrite
			}
			return err
		},
		"flush": func(w http.ResponseWriter, between func()) error {
			for i, part := range parts {
				for ; part != ""; part = part[min(len(part), 64<<10):] {
					if _, err := io.WriteString(w, part[:min(len(part), 64<<10)]); err != nil {
						return err
					}
					if err := http.NewResponseController(w).Flush(); err != nil {
						return err
					}
				}
				if i == 0 {
					between()
				}
			}
			return nil
		},
		"declared": func(w http.ResponseWriter, between func()) error {
			w.Header().Set("Content-Length", fmt.Sprint(len(large)))
			_, first := io.WriteString(w, parts[0])
			between()
			_, second := io.WriteString(w, parts[1])
			return errors.Join(first, second)
		},
	}
}

// readerFunc is a function that reads.
type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// A client reads some of a large answer and hangs up. If the record has room,
// the handler notices nothing and the retry gets every byte. If not, both learn
// that there is nothing to be had.
func TestClientThatHangsUpInTheMiddle(t *testing.T) {
	eachStore(t, func(t *testing.T, env env) {
		large := largeAnswer()
		for name, write := range writers(large) {
			for _, limit := range []int{0, 16 << 20} {
				var calls counter
				began, ended := make(chan struct{}), make(chan error, 1)
				s, over := env.watch(t, func(w http.ResponseWriter, r *http.Request) {
					calls.next()
					ended <- write(w, func() {
						close(began)
						<-r.Context().Done()
					})
				}, semelhttp.IdempotencyOptions{MaxResponse: limit, StoreTimeout: time.Minute})
				key := fmt.Sprint(name, limit)
				hangUp, body := s.begin("/", key)
				_, err := io.CopyN(io.Discard, body, 1<<19)
				require.NoError(t, err)
				// What is on its way must be read for the first part to end.
				go func() { _, _ = io.Copy(io.Discard, body) }()
				<-began
				hangUp()
				err = <-ended
				<-over
				a := s.post("/", key, "")
				if limit == 0 {
					require.Error(t, err, key)
					requireTombstone(t, a, http.StatusOK)
				} else {
					require.NoError(t, err, key)
					require.True(t, a.replayed(), key)
					require.True(t, a.body == large, "%s: %d bytes", key, len(a.body))
				}
				require.Equal(t, 1, calls.total())
			}
		}
	})
}

// A limit costs the replay its body, and the first caller nothing.
func TestFirstCallerGetsAllOfALargeAnswer(t *testing.T) {
	eachStore(t, func(t *testing.T, env env) {
		large := largeAnswer()[:2<<20]
		for _, commitFirst := range []bool{false, true} {
			for name, write := range writers(large) {
				var calls counter
				s, over := env.watch(t, func(w http.ResponseWriter, _ *http.Request) {
					calls.next()
					if err := write(w, func() {}); err != nil {
						panic(err)
					}
				}, semelhttp.IdempotencyOptions{CommitFirst: commitFirst})
				key := fmt.Sprint(name, commitFirst)
				first := s.post("/", key, "")
				require.True(t, first.body == large, "%s: %d bytes", key, len(first.body))
				<-over
				for range 2 {
					requireTombstone(t, s.post("/", key, ""), http.StatusOK)
				}
				require.Equal(t, 1, calls.total())
			}
		}
	})
}

// An answer that is not as long as it says was no answer, and has happened.
func TestBodyThatIsNotAsLongAsDeclared(t *testing.T) {
	eachStore(t, func(t *testing.T, env env) {
		var calls counter
		s, over := env.watch(t, func(w http.ResponseWriter, r *http.Request) {
			calls.next()
			w.Header().Set("Content-Length", "5")
			w.Header().Set("Location", "/payments/1")
			w.WriteHeader(http.StatusCreated)
			for _, part := range strings.Split(r.URL.Query().Get("body"), "-") {
				_, _ = io.WriteString(w, part)
			}
		}, semelhttp.IdempotencyOptions{})
		for parts, want := range map[string]string{"": "", "abc": "abc", "abc-d": "abcd", "abcde-f": "abcde"} {
			path := "/?body=" + parts
			_, body := s.begin(path, "k"+parts)
			got, err := io.ReadAll(body)
			require.Equal(t, want, string(got))
			require.Equal(t, len(want) < 5, errors.Is(err, io.ErrUnexpectedEOF), parts)
			<-over
			a := s.post(path, "k"+parts, "")
			requireTombstone(t, a, http.StatusCreated)
			require.Equal(t, "/payments/1", a.header.Get("Location"))
			<-over
		}
		require.Equal(t, 4, calls.total())
		_, body := s.begin("/?body=abc-de", "whole")
		got, err := io.ReadAll(body)
		require.NoError(t, err)
		require.Equal(t, "abcde", string(got))
		<-over
		require.Equal(t, "abcde", s.post("/?body=abc-de", "whole", "").body)
	})
}

// A goroutine that the handler left behind writes on. What it is allowed to
// write both get, the client and the record.
func TestWriterThatOutlivesItsHandler(t *testing.T) {
	t.Parallel()
	for _, commitFirst := range []bool{false, true} {
		refused := make(chan error, 1)
		s := inMemory(t).protect(t, func(w http.ResponseWriter, _ *http.Request) {
			wrote := make(chan struct{}, 1)
			go func() {
				for {
					_, err := io.WriteString(w, "x")
					if err != nil {
						refused <- err
						return
					}
					select {
					case wrote <- struct{}{}:
					default:
					}
					_ = http.NewResponseController(w).Flush()
					runtime.Gosched()
				}
			}()
			<-wrote
		}, semelhttp.IdempotencyOptions{MaxResponse: 32 << 20, CommitFirst: commitFirst})
		first := s.post("/", "k", "")
		require.NotEmpty(t, first.body)
		require.Error(t, <-refused)
		a := s.post("/", "k", "")
		require.True(t, a.replayed())
		require.Equal(t, first.body, a.body)
	}
}

// A handler that breaks its answer off has not answered, over any protocol.
func TestAbortInTheMiddleFreesTheKey(t *testing.T) {
	eachStore(t, func(t *testing.T, env env) {
		var calls counter
		servers := env.protocols(t, func(w http.ResponseWriter, _ *http.Request) {
			n := calls.next()
			_, _ = io.WriteString(w, "half ")
			_ = http.NewResponseController(w).Flush()
			if n%2 == 1 {
				panic(http.ErrAbortHandler)
			}
			_, _ = io.WriteString(w, "whole")
		})
		for major, s := range servers {
			key := fmt.Sprint(major)
			_, err := s.try(s.request(http.MethodPost, "/", key, nil))
			require.Error(t, err)
			a := s.post("/", key, "")
			require.Equal(t, "half whole", a.body)
			require.False(t, a.replayed())
			require.True(t, s.post("/", key, "").replayed())
		}
	})
}
