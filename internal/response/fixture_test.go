package response_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/response"
)

// marker is the header that says of an answer that it is a replay.
const marker = "Idempotent-Replayed"

// tape is the least of a middleware: it records handler's answer to what it is
// asked, and replays that on the path /replay.
type tape struct {
	handler http.Handler
	options response.Options
	// outer prepares the header, as middleware outside would.
	outer func(http.Header, *http.Request)
	// around, if not nil, wraps the writer below the recorder.
	around func(http.ResponseWriter) http.ResponseWriter

	ended chan struct{} // one for each recording
	mu    sync.Mutex
	last  response.Recorded
	data  []byte
	sent  error
}

func newTape(handler http.HandlerFunc) *tape {
	return &tape{handler: handler, ended: make(chan struct{}, 100)}
}

func (tp *tape) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if tp.outer != nil {
		tp.outer(w.Header(), r)
	}
	if r.URL.Path == "/replay" {
		again, err := response.Decode(tp.encoded())
		if err == nil {
			err = again.Replay(w, r, func(h http.Header) { h.Set(marker, "true") })
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusTeapot)
		}
		return
	}
	defer func() { tp.ended <- struct{}{} }()
	if tp.around != nil {
		w = tp.around(w)
	}
	rec := response.NewRecorder(w, r, tp.options)
	returned := false
	defer func() {
		if !returned {
			rec.Abandon()
		}
	}()
	tp.handler.ServeHTTP(rec, r)
	returned = true

	recorded := rec.Finish()
	tp.mu.Lock()
	defer tp.mu.Unlock()
	tp.last, tp.data = recorded, recorded.Encode()
	tp.sent = rec.Send()
}

func (tp *tape) encoded() []byte {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	return tp.data
}

// recorded waits for a recording to end and returns it.
func (tp *tape) recorded() response.Recorded {
	<-tp.ended
	tp.mu.Lock()
	defer tp.mu.Unlock()
	return tp.last
}

// serve starts a server for tp and returns its address.
func serve(t *testing.T, tp http.Handler) string {
	t.Helper()
	srv := httptest.NewUnstartedServer(tp)
	// What net/http says to a handler's mistakes is no news here.
	srv.Config.ErrorLog = discard()
	srv.Start()
	t.Cleanup(srv.Close)
	return srv.Listener.Addr().String()
}

// dial connects to addr and sends request.
func dial(t *testing.T, addr, request string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
	_, err = io.WriteString(conn, request)
	require.NoError(t, err)
	return conn
}

// raw returns all that addr answers to a request for path, byte by byte. The
// lines are further header lines, each with its end.
func raw(t *testing.T, addr, method, path, lines string) string {
	t.Helper()
	conn := dial(t, addr, fmt.Sprintf("%s %s HTTP/1.1\r\nHost: test\r\nConnection: close\r\n%s\r\n", method, path, lines))
	all, err := io.ReadAll(conn)
	require.NoError(t, err)
	return string(all)
}

// answer is what a client sees of an answer.
type answer struct {
	status  int
	header  http.Header
	body    string
	trailer http.Header
	chunked bool
	length  int64
}

// ask sends a request over a connection of its own, with nothing in it that the
// test has not asked for, and parses the answer.
func ask(t *testing.T, addr, method, path, lines string) answer {
	t.Helper()
	conn := dial(t, addr, fmt.Sprintf("%s %s HTTP/1.1\r\nHost: test\r\nConnection: close\r\n%s\r\n", method, path, lines))
	in := bufio.NewReader(conn)
	var res *http.Response
	for {
		var err error
		res, err = http.ReadResponse(in, &http.Request{Method: method})
		require.NoError(t, err)
		if res.StatusCode >= 200 {
			break
		}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return answer{
		status: res.StatusCode, header: res.Header, body: string(body), trailer: res.Trailer,
		chunked: len(res.TransferEncoding) > 0, length: res.ContentLength,
	}
}

// requireSame asks for the original and a replay, and holds the one against the
// other: status, headers but for those of the message, body and trailers.
func requireSame(t *testing.T, tp *tape) (original, replay answer) {
	t.Helper()
	addr := serve(t, tp)
	original = ask(t, addr, "POST", "/", "")
	require.True(t, tp.recorded().Whole)
	require.NotContains(t, original.header, marker)
	replay = ask(t, addr, "POST", "/replay", "")
	require.Equal(t, []string{"true"}, replay.header[marker])

	compared := func(a answer) answer {
		a.header, a.chunked, a.length = a.header.Clone(), false, 0
		for _, name := range []string{"Date", "Content-Length", "Connection", marker} {
			a.header.Del(name)
		}
		return a
	}
	require.Equal(t, compared(original), compared(replay))
	return original, replay
}

// endless is a body without an end and without WriteTo. Its bytes say where
// they are: a piece that is missing shows.
type endless struct{ at int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e.at ^ e.at>>8 ^ e.at>>16)
		e.at++
	}
	return len(p), nil
}

func fixedTime() time.Time { return time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC) }

// say writes s. It panics in the handler if that fails, which ends the
// connection.
func say(w io.Writer, s string) {
	if _, err := io.WriteString(w, s); err != nil {
		panic(err)
	}
}

// fill copies size bytes, like a handler that passes on a file.
func fill(w io.Writer, size int64) {
	if n, err := io.Copy(w, io.LimitReader(&endless{}, size)); n != size || err != nil {
		panic(fmt.Sprintf("copied %d bytes of %d: %v", n, size, err))
	}
}
