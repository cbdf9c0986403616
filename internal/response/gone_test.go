package response_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/response"
)

// TestClientGone lets the client leave as soon as it has the first bytes, and
// the handler write on. Only where the answer can be kept may it not notice.
func TestClientGone(t *testing.T) {
	t.Parallel()
	const size = 10 << 20
	copies := func(w http.ResponseWriter) error {
		_, err := io.Copy(w, io.LimitReader(&endless{}, size))
		return err
	}
	flushes := func(w http.ResponseWriter) error {
		chunk := make([]byte, size/1000)
		for i := range 1000 {
			copy(chunk, strings.Repeat(string(rune('a'+i%26)), 100))
			if _, err := w.Write(chunk); err != nil {
				return err
			}
			if err := http.NewResponseController(w).Flush(); err != nil {
				return err
			}
		}
		return nil
	}
	for name, tc := range map[string]struct {
		limit int
		typ   string
		write func(http.ResponseWriter) error
		keeps bool
	}{
		"copy":             {16 << 20, "text/plain", copies, true},
		"flushes":          {16 << 20, "text/plain", flushes, true},
		"copy, too large":  {1 << 20, "text/plain", copies, false},
		"flush, too large": {1 << 20, "text/plain", flushes, false},
		"events":           {16 << 20, "text/event-stream", flushes, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			left := make(chan struct{})
			wrote := make(chan error, 1)
			tp := newTape(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", tc.typ)
				w.WriteHeader(http.StatusCreated)
				w.(http.Flusher).Flush()
				<-left
				<-r.Context().Done() // the server has noticed
				wrote <- tc.write(w)
			})
			tp.options.Limit = tc.limit
			addr := serve(t, tp)
			conn := dial(t, addr, "POST / HTTP/1.1\r\nHost: test\r\n\r\n")
			_, err := io.ReadFull(conn, make([]byte, 10))
			require.NoError(t, err)
			require.NoError(t, conn.Close())
			close(left)

			err = <-wrote
			recorded := tp.recorded()
			require.Equal(t, http.StatusCreated, recorded.Status)
			require.Equal(t, tc.keeps, recorded.Whole)
			if !tc.keeps {
				require.Error(t, err, "nothing is gained by going on")
				return
			}
			require.NoError(t, err)
			full := httptest.NewRecorder()
			require.NoError(t, tc.write(full))
			replay := ask(t, addr, "POST", "/replay", "")
			require.True(t, full.Body.String() == replay.body, "%d of %d bytes", len(replay.body), full.Body.Len())
		})
	}
}

// TestSendingEnds shows for each error from below whose fault it is, and that a
// writer that failed is left alone.
func TestSendingEnds(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{io.ErrClosedPipe, http.ErrHandlerTimeout, response.ErrFinished, errors.New("reset")} {
		w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
		below := &failsOnce{ResponseRecorder: w, err: cause}
		rec := response.NewRecorder(below, r, response.Options{Limit: 8})
		for _, s := range []string{"ab", "cd", "ef"} {
			n, err := io.WriteString(rec, s)
			require.NoError(t, err)
			require.Equal(t, 2, n)
			require.NoError(t, rec.FlushError())
		}
		n, err := rec.ReadFrom(strings.NewReader("gh"))
		require.NoError(t, err)
		require.EqualValues(t, 2, n)
		require.Empty(t, w.Body.String(), "what comes after a gap is not sent")

		n2, err := rec.Write([]byte("ij"))
		require.Equal(t, cause, err, "past the limit")
		require.Zero(t, n2)
		require.Equal(t, cause, rec.FlushError())
		require.False(t, rec.Finish().Whole)
	}
}

// failsOnce fails the first write alone.
type failsOnce struct {
	*httptest.ResponseRecorder
	err error
}

func (f *failsOnce) WriteString(s string) (int, error) {
	if err := f.err; err != nil {
		f.err = nil
		return 1, err
	}
	return f.ResponseRecorder.WriteString(s)
}

// TestGoneKeepsRules shows that the handler's own mistakes are told to it when
// nobody listens any more, too.
func TestGoneKeepsRules(t *testing.T) {
	t.Parallel()
	w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
	rec := response.NewRecorder(failing{w, io.ErrClosedPipe}, r, response.Options{})
	rec.Header().Set("Content-Length", "3")
	_, err := rec.Write([]byte("abc"))
	require.NoError(t, err)
	_, err = rec.Write([]byte("d"))
	require.Equal(t, http.ErrContentLength, err)
	require.False(t, rec.Finish().Whole)

	rec = response.NewRecorder(failing{w, io.ErrClosedPipe}, r, response.Options{})
	require.NoError(t, rec.FlushError(), "a flush finds the client gone first")
	_, err = rec.Write([]byte("abc"))
	require.NoError(t, err)
	require.Equal(t, "abc", string(rec.Finish().Body))
}
