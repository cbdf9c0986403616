package middleware_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/lock"
	semelhttp "github.com/semel-go/semel/middleware"
)

// tellBody answers with all that it finds of its request's body.
func tellBody(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	if err = r.Body.Close(); err != nil {
		panic(err)
	}
	_, _ = fmt.Fprintf(w, "%d %q %v %q", r.ContentLength, body, r.TransferEncoding, r.Trailer.Get("Sum"))
	if r.GetBody != nil {
		_, _ = io.WriteString(w, " may be sent again")
	}
}

func TestHandlerGetsItsBody(t *testing.T) {
	t.Parallel()
	s := inMemory(t).protect(t, tellBody, semelhttp.IdempotencyOptions{})
	require.Equal(t, `4 "body" [] ""`, s.post("/", "sized", "body").body)
	require.Equal(t, `0 "" [] ""`, s.post("/", "empty", "").body)

	chunked := func(key, body string) *http.Request {
		return s.request(http.MethodPost, "/", key, io.MultiReader(strings.NewReader(body)))
	}
	require.Equal(t, `-1 "body" [chunked] ""`, s.do(chunked("chunked", "body")).body)
	require.Equal(t, `-1 "" [chunked] ""`, s.do(chunked("chunked-empty", "")).body)
	large := strings.Repeat("0123456789", 50_000)
	require.Equal(t, fmt.Sprintf(`-1 %q [chunked] ""`, large), s.do(chunked("chunked-large", large)).body)

	r := chunked("trailer", "body")
	r.Trailer = http.Header{"Sum": {"42"}}
	require.Equal(t, `-1 "body" [chunked] "42"`, s.do(r).body)
}

func TestBodyThatIsTooLargeClaimsNothing(t *testing.T) {
	t.Parallel()
	env := inMemory(t)
	var calls counter
	s := env.protect(t, func(http.ResponseWriter, *http.Request) { calls.next() }, semelhttp.IdempotencyOptions{MaxBody: 8})
	for name, body := range map[string]io.Reader{
		"declared": bytes.NewReader(make([]byte, 9)),
		"chunked":  io.MultiReader(bytes.NewReader(make([]byte, 9))),
		"endless":  endless{},
	} {
		r := s.request(http.MethodPost, "/", "k", body)
		a, err := s.try(r)
		if name == "endless" && err != nil {
			continue // the server hung up before the client had read its answer
		}
		require.NoError(t, err)
		require.Equal(t, http.StatusRequestEntityTooLarge, a.status, name)
		require.Equal(t, semelhttp.CodeBodyTooLarge, a.code(t), name)
	}
	require.Zero(t, calls.total())
	require.Equal(t, http.StatusOK, s.post("/", "k", "12345678").status, "the limit itself, and nothing was claimed")
	require.Equal(t, 1, calls.total())
}

// endless is a body without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestLimitOfOuterMiddlewareIsTooLarge(t *testing.T) {
	t.Parallel()
	guard := inMemory(t).guard(t, idempotency.Options{})
	protected := semelhttp.Idempotency(guard, semelhttp.SharedScope(), semelhttp.IdempotencyOptions{})(http.HandlerFunc(tellBody))
	s := serve(t, http.MaxBytesHandler(protected, 8))
	require.Equal(t, semelhttp.CodeBodyTooLarge, s.post("/", "k", "123456789").code(t))
	require.Equal(t, http.StatusOK, s.post("/", "k", "12345678").status)
}

func TestBodyThatCannotBeReadClaimsNothing(t *testing.T) {
	t.Parallel()
	var calls counter
	s := inMemory(t).protect(t, func(http.ResponseWriter, *http.Request) { calls.next() }, semelhttp.IdempotencyOptions{})
	const head = "POST / HTTP/1.1\r\nHost: x\r\nIdempotency-Key: k\r\nTransfer-Encoding: chunked\r\n\r\n"
	a := s.raw(head + "not a length\r\n")
	require.Equal(t, http.StatusBadRequest, a.status)
	require.Equal(t, semelhttp.CodeBodyUnreadable, a.code(t))
	require.Zero(t, calls.total())
	require.Equal(t, http.StatusOK, s.raw(head+"0\r\n\r\n").status)
	require.Equal(t, 1, calls.total())
}

func TestExpectContinue(t *testing.T) {
	t.Parallel()
	s := inMemory(t).protect(t, tellBody, semelhttp.IdempotencyOptions{MaxBody: 8})
	for body, wantContinue := range map[string]bool{"12345678": true, "123456789": false} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Listener.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		_, err = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nIdempotency-Key: %s\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", body, len(body))
		require.NoError(t, err)
		in := bufio.NewReader(conn)
		line, err := in.ReadString('\n')
		require.NoError(t, err)
		if !wantContinue {
			require.Contains(t, line, "413", "nobody need send it")
			continue
		}
		require.Contains(t, line, "100")
		_, err = in.ReadString('\n')
		require.NoError(t, err)
		_, err = io.WriteString(conn, body)
		require.NoError(t, err)
		res, err := http.ReadResponse(in, nil)
		require.NoError(t, err)
		got, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, `8 "12345678" [] ""`, string(got))
	}
}

// What the handler leaves in its copy of the request reaches whoever is outside:
// net/http removes the files of a form, and a logger asks which route it was.
func TestWhatTheHandlerLeavesInItsRequestIsGivenBack(t *testing.T) {
	t.Parallel()
	e := inMemory(t)
	for name, wrap := range map[string]func(http.Handler) http.Handler{
		"bare":      func(h http.Handler) http.Handler { return h },
		"once":      semelhttp.Idempotency(e.guard(t, idempotency.Options{}), semelhttp.SharedScope(), semelhttp.IdempotencyOptions{}),
		"serialize": semelhttp.Serialize(e.locker(t, lock.Options{}), byPath, semelhttp.SerializeOptions{}),
	} {
		files, patterns := make(chan string, 1), make(chan string, 1)
		mux := http.NewServeMux()
		mux.HandleFunc("POST /upload/{id}", func(_ http.ResponseWriter, r *http.Request) {
			if err := r.ParseMultipartForm(1); err != nil {
				panic(err)
			}
			f, err := r.MultipartForm.File["f"][0].Open()
			if err != nil {
				panic(err)
			}
			files <- f.(*os.File).Name()
			_ = f.Close()
		})
		wrapped := wrap(wrap(mux))
		s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			wrapped.ServeHTTP(w, r)
			patterns <- r.Pattern
		}))
		var form bytes.Buffer
		m := multipart.NewWriter(&form)
		f, err := m.CreateFormFile("f", "x")
		require.NoError(t, err)
		_, _ = f.Write(make([]byte, 200<<10))
		require.NoError(t, m.Close())
		require.Equal(t, http.StatusOK, s.post("/upload/1", "k", form.String(), "Content-Type", m.FormDataContentType()).status, name)
		s.Close()
		require.NoFileExists(t, <-files, name)
		require.Equal(t, "POST /upload/{id}", <-patterns, name)
	}
}
