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

// TestInformational shows that a 1xx reaches the client and does not end the
// header.
func TestInformational(t *testing.T) {
	t.Parallel()
	tp := newTape(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.Header().Set("X-Early", "1")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("X-Early", "2")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("X-Early")
		w.Header().Set("Location", "/7")
		w.WriteHeader(http.StatusCreated)
	})
	tp.outer = func(h http.Header, _ *http.Request) { h.Set("X-Outer", "1") }
	tp.around = func(w http.ResponseWriter) http.ResponseWriter { return adding{w} }
	addr := serve(t, tp)
	got := raw(t, addr, "POST", "/", "")
	early, rest, _ := strings.Cut(got, "HTTP/1.1 201 Created\r\n")
	require.Equal(t, "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\nX-Early: 1\r\nX-Outer: 1\r\n\r\n"+
		"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\nX-Added: 103\r\nX-Early: 2\r\nX-Outer: 1\r\n\r\n", early)
	require.Contains(t, rest, "Location: /7\r\n")
	require.Contains(t, rest, "Link: </style.css>; rel=preload\r\n")
	require.Contains(t, rest, "X-Added: 103\r\n", "what a writer in between added stays")
	require.NotContains(t, rest, "X-Early")

	recorded := tp.recorded()
	require.Equal(t, http.StatusCreated, recorded.Status)
	require.Equal(t, http.Header{"Link": {"</style.css>; rel=preload"}, "Location": {"/7"}}, recorded.Header())
}

// adding is a writer in between that adds to the header after a 1xx.
type adding struct{ http.ResponseWriter }

func (a adding) WriteHeader(status int) {
	a.ResponseWriter.WriteHeader(status)
	if status < 200 {
		a.Header().Set("X-Added", "103")
	}
}

// TestBodyless shows what HEAD, 204 and 304 leave, and what the handler is told.
func TestBodyless(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		method string
		status int
		want   error
	}{
		{"POST", http.StatusNoContent, http.ErrBodyNotAllowed},
		{"POST", http.StatusNotModified, http.ErrBodyNotAllowed},
		{"HEAD", http.StatusOK, nil},
	} {
		for _, hold := range []bool{false, true} {
			wrote := make(chan error, 1)
			tp := newTape(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "7000")
				w.WriteHeader(tc.status)
				_, err := io.WriteString(w, "<html>")
				wrote <- err
			})
			tp.options = response.Options{HoldBack: hold, Limit: 1000}
			got := ask(t, serve(t, tp), tc.method, "/", "")
			require.Equal(t, tc.want, <-wrote)
			require.Equal(t, tc.status, got.status)
			require.Empty(t, got.body)
			recorded := tp.recorded()
			require.True(t, recorded.Whole, "a declared length without a body is right here")
			require.Empty(t, recorded.Body)
			require.Empty(t, recorded.Changes)
		}
	}
}

// TestLimit shows that the limit costs the replay its body, and the client
// nothing.
func TestLimit(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		size     int
		declared bool
		whole    bool
	}{
		"at the limit":           {10_000, false, true},
		"above":                  {10_001, false, false},
		"above, and declared so": {10_001, true, false},
		"far above":              {1 << 20, false, false},
	} {
		for _, hold := range []bool{false, true} {
			tp := newTape(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "/7")
				if tc.declared {
					w.Header().Set("Content-Length", "10001")
				}
				w.WriteHeader(http.StatusCreated)
				fill(w, int64(tc.size))
			})
			tp.options = response.Options{Limit: 10_000, HoldBack: hold}
			got := ask(t, serve(t, tp), "POST", "/", "")
			require.Len(t, got.body, tc.size, name)
			recorded := tp.recorded()
			require.Equal(t, tc.whole, recorded.Whole, name)
			require.Equal(t, http.StatusCreated, recorded.Status)
			require.Equal(t, "/7", recorded.Get("Location"))
			require.NoError(t, tp.sent)
			if tc.whole {
				require.Equal(t, got.body, string(recorded.Body))
			}
		}
	}
}

// TestLength shows that a body of another length than declared is not kept, and
// that the handler hears what net/http says to it.
func TestLength(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		declared string
		writes   []string
		whole    bool
		want     error
	}{
		"right":       {"6", []string{"abc", "def"}, true, nil},
		"short":       {"7", []string{"abc", "def"}, false, nil},
		"none":        {"7", nil, false, nil},
		"long":        {"5", []string{"abc", "def"}, false, http.ErrContentLength},
		"zero":        {"0", []string{"abc"}, false, http.ErrContentLength},
		"no number":   {"many", []string{"abc"}, true, nil},
		"not allowed": {"-1", []string{"abc"}, true, nil},
	} {
		for _, hold := range []bool{false, true} {
			w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
			rec := response.NewRecorder(strict{w, tc.declared}, r, response.Options{HoldBack: hold})
			rec.Header().Set("Content-Length", tc.declared)
			var err error
			for _, s := range tc.writes {
				_, err = io.WriteString(rec, s)
			}
			require.Equal(t, tc.want, err, name)
			require.Equal(t, tc.whole, rec.Finish().Whole, name)
			require.NoError(t, rec.Send(), name)
			if tc.want == nil {
				require.Equal(t, strings.Join(tc.writes, ""), w.Body.String(), name)
			}
		}
	}
}

// strict refuses what is longer than declared, as net/http does.
type strict struct {
	*httptest.ResponseRecorder
	declared string
}

func (s strict) Write(p []byte) (int, error) {
	if n := len(s.declared); n == 1 && s.Body.Len()+len(p) > int(s.declared[0]-'0') {
		return 0, http.ErrContentLength
	}
	return s.ResponseRecorder.Write(p)
}

func (s strict) WriteString(p string) (int, error) { return s.Write([]byte(p)) }

// TestRefusedBelow shows that what the writer below refused is not kept as if the
// client had it.
func TestRefusedBelow(t *testing.T) {
	t.Parallel()
	for _, refusal := range []error{http.ErrContentLength, http.ErrHijacked, http.ErrBodyNotAllowed} {
		w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
		rec := response.NewRecorder(failing{w, refusal}, r, response.Options{})
		_, err := rec.Write([]byte("abc"))
		require.Equal(t, refusal, err)
		require.False(t, rec.Finish().Whole)
	}
}

// failing fails each write and flush.
type failing struct {
	*httptest.ResponseRecorder
	err error
}

func (f failing) Write([]byte) (int, error)       { return 0, f.err }
func (f failing) WriteString(string) (int, error) { return 0, f.err }
func (f failing) FlushError() error               { return f.err }

// TestInvalidStatus shows the panic that net/http has, too.
func TestInvalidStatus(t *testing.T) {
	t.Parallel()
	for _, status := range []int{-1, 0, 99, 1000} {
		w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
		rec := response.NewRecorder(w, r, response.Options{})
		require.Panics(t, func() { rec.WriteHeader(status) })
		rec.WriteHeader(http.StatusOK)
		require.NotPanics(t, func() { rec.WriteHeader(status) }, "a superfluous call is ignored")
		require.Equal(t, http.StatusOK, rec.Finish().Status)
	}
}

// TestEventStream shows that a stream of events is passed on from its first byte
// and never kept.
func TestEventStream(t *testing.T) {
	t.Parallel()
	for _, hold := range []bool{false, true} {
		seen := make(chan struct{})
		tp := newTape(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "Text/Event-Stream; charset=utf-8")
			say(w, "data: 1\n\n")
			http.NewResponseController(w).Flush()
			<-seen
			say(w, "data: 2\n\n")
		})
		tp.options.HoldBack = hold
		res, err := http.Post("http://"+serve(t, tp), "", nil)
		require.NoError(t, err)
		first := make([]byte, 9)
		_, err = io.ReadFull(res.Body, first)
		require.NoError(t, err)
		close(seen)
		_, err = io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		recorded := tp.recorded()
		require.False(t, recorded.Whole)
		require.Empty(t, recorded.Body)
	}
}

// TestReadFrom shows that a copy ends with its source's error.
func TestReadFrom(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
	rec := response.NewRecorder(w, r, response.Options{})
	n, err := rec.ReadFrom(io.MultiReader(io.LimitReader(&endless{}, 100_000), failingReader{broken}))
	require.Equal(t, broken, err)
	require.EqualValues(t, 100_000, n)
	require.Equal(t, w.Body.Bytes(), rec.Finish().Body)
}

type failingReader struct{ err error }

func (f failingReader) Read([]byte) (int, error) { return 0, f.err }
