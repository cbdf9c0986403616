package response_test

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/response"
)

// TestFlush shows that the client has what was flushed before the handler's next
// write.
func TestFlush(t *testing.T) {
	t.Parallel()
	for name, flush := range map[string]func(http.ResponseWriter){
		"controller": func(w http.ResponseWriter) { http.NewResponseController(w).Flush() },
		"flusher":    func(w http.ResponseWriter) { w.(http.Flusher).Flush() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := make(chan struct{})
			tp := newTape(func(w http.ResponseWriter, _ *http.Request) {
				say(w, "first")
				flush(w)
				<-seen
				say(w, "second")
			})
			res, err := http.Post("http://"+serve(t, tp), "", nil)
			require.NoError(t, err)
			defer res.Body.Close()
			_, err = io.ReadFull(res.Body, make([]byte, 5))
			require.NoError(t, err)
			close(seen)
			_, err = io.ReadAll(res.Body)
			require.NoError(t, err)
			require.Equal(t, "firstsecond", string(tp.recorded().Body))
		})
	}
}

// TestHijack shows that a connection is handed over as it is, and leaves a
// tombstone.
func TestHijack(t *testing.T) {
	t.Parallel()
	for _, hold := range []bool{false, true} {
		tp := newTape(func(w http.ResponseWriter, _ *http.Request) {
			conn, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				panic(err)
			}
			defer conn.Close()
			if _, err := w.Write([]byte("x")); err != http.ErrHijacked {
				panic(err)
			}
			say(rw, "HTTP/1.1 101 Switching Protocols\r\n\r\n")
			rw.Flush()
			line, _ := rw.ReadString('\n')
			say(rw, strings.ToUpper(line))
			rw.Flush()
		})
		tp.options.HoldBack = hold
		conn := dial(t, serve(t, tp), "POST / HTTP/1.1\r\nHost: test\r\n\r\nhello\n")
		got, err := io.ReadAll(conn)
		require.NoError(t, err)
		require.Equal(t, "HTTP/1.1 101 Switching Protocols\r\n\r\nHELLO\n", string(got))
		require.Equal(t, response.Recorded{Status: http.StatusSwitchingProtocols}, tp.recorded())
		require.NoError(t, tp.sent)
	}
}

// TestHijackAfterHeader shows that a header that is held back goes before what
// the handler sends itself.
func TestHijackAfterHeader(t *testing.T) {
	t.Parallel()
	tp := newTape(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusAccepted)
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		say(conn, "own")
		conn.Close()
	})
	tp.options.HoldBack = true
	got := raw(t, serve(t, tp), "POST", "/", "")
	require.True(t, strings.HasPrefix(got, "HTTP/1.1 202 Accepted\r\n"), got)
	require.True(t, strings.HasSuffix(got, "\r\n\r\nown"), got)
	require.Equal(t, response.Recorded{Status: http.StatusAccepted}, tp.recorded())
}

// TestSwitchingProtocols shows that 101 is final, and no answer to replay.
func TestSwitchingProtocols(t *testing.T) {
	t.Parallel()
	w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
	rec := response.NewRecorder(w, r, response.Options{})
	rec.WriteHeader(http.StatusSwitchingProtocols)
	rec.WriteHeader(http.StatusOK)
	require.Equal(t, http.StatusSwitchingProtocols, w.Code)
	recorded := rec.Finish()
	require.Equal(t, http.StatusSwitchingProtocols, recorded.Status)
	require.False(t, recorded.Whole)
	require.ErrorIs(t, recorded.Replay(w, r, nil), response.ErrNotReplayable)
}

// TestController shows that deadlines and full duplex reach the server through
// the recorder.
func TestController(t *testing.T) {
	t.Parallel()
	tp := newTape(func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		for _, err := range []error{rc.EnableFullDuplex(), rc.SetWriteDeadline(time.Now().Add(time.Minute))} {
			if err != nil {
				panic(err)
			}
		}
		in := bufio.NewReader(r.Body)
		for range 2 {
			line, _ := in.ReadString('\n')
			say(w, line)
			rc.Flush()
		}
		if err := rc.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
			panic(err)
		}
		if _, err := in.ReadString('\n'); err == nil {
			panic("read past its deadline")
		}
	})
	pr, pw := io.Pipe()
	defer pw.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+serve(t, tp), pr)
	require.NoError(t, err)
	go say(pw, "one\n")
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	out := bufio.NewReader(res.Body)
	line, err := out.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "one\n", line)
	say(pw, "two\n")
	line, err = out.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "two\n", line)
	require.Equal(t, "one\ntwo\n", string(tp.recorded().Body))
}

// plain is a writer that can do nothing but write.
type plain struct{ http.ResponseWriter }

// pushing is one that can push, below another.
type pushing struct {
	http.ResponseWriter
	pushed *string
}

func (p pushing) Push(target string, _ *http.PushOptions) error {
	*p.pushed = target
	return nil
}

type wrapping struct{ http.ResponseWriter }

func (w wrapping) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// TestNotSupported shows that the recorder can do what the writer below can, and
// says so where it cannot.
func TestNotSupported(t *testing.T) {
	t.Parallel()
	w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
	rec := response.NewRecorder(plain{w}, r, response.Options{})
	rc := http.NewResponseController(rec)
	_, _, hijacked := rc.Hijack()
	for name, err := range map[string]error{
		"Flush":      rc.Flush(),
		"Hijack":     hijacked,
		"Deadline":   rc.SetReadDeadline(time.Time{}),
		"FullDuplex": rc.EnableFullDuplex(),
		"Push":       rec.Push("/", nil),
	} {
		require.ErrorIs(t, err, http.ErrNotSupported, name)
	}
	say(rec, "x")
	require.Equal(t, "x", string(rec.Finish().Body), "none of that costs the record")

	var pushed string
	rec = response.NewRecorder(wrapping{pushing{w, &pushed}}, r, response.Options{})
	require.NoError(t, rec.Push("/style.css", nil))
	require.Equal(t, "/style.css", pushed)
	rec = response.NewRecorder(pushing{w, &pushed}, r, response.Options{HoldBack: true})
	require.ErrorIs(t, rec.Push("/early.css", nil), http.ErrNotSupported)
	require.Equal(t, "/style.css", pushed)
}

// TestReverseProxy records what another server answered.
func TestReverseProxy(t *testing.T) {
	t.Parallel()
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		w.WriteHeader(http.StatusCreated)
		fill(w, 50_000)
		w.Header().Set("X-Sum", "50000")
		w.Header().Set(http.TrailerPrefix+"X-Unannounced", "1")
	}))
	t.Cleanup(origin.Close)
	target, err := url.Parse(origin.URL)
	require.NoError(t, err)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, ErrorLog: discard()}
	original, replay := requireSame(t, newTape(proxy.ServeHTTP))
	require.Len(t, original.body, 50_000)
	require.Equal(t, http.Header{"X-Sum": {"50000"}, "X-Unannounced": {"1"}}, replay.trailer)
}
