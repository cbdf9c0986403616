package response_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/response"
)

// code applies one content coding.
func code(coding string, body []byte) []byte {
	var out bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip", "x-gzip":
		w = gzip.NewWriter(&out)
	case "deflate":
		w = zlib.NewWriter(&out)
	case "raw deflate":
		w, _ = flate.NewWriter(&out, flate.BestSpeed)
	default:
		return append([]byte(coding+":"), body...)
	}
	say(w, string(body))
	w.Close()
	return out.Bytes()
}

// coded is a record of body in the codings.
func coded(body string, codings ...string) response.Recorded {
	data := []byte(body)
	for _, c := range codings {
		data = code(c, data)
	}
	name := strings.ReplaceAll(strings.Join(codings, ", "), "raw ", "")
	return response.Recorded{
		Status: http.StatusCreated, Whole: true, Body: data,
		Changes: []response.Change{
			{Name: "Content-Encoding", Values: []string{name}},
			{Name: "Content-Type", Values: []string{"text/plain"}},
			{Name: "Etag", Values: []string{`"v1"`}},
			{Name: "Repr-Digest", Values: []string{"sha-256=:x:"}},
			{Name: "Vary", Values: []string{"Accept-Encoding"}},
		},
	}
}

// replayed replays r to a request with these Accept-Encoding lines.
func replayed(t *testing.T, r response.Recorded, accept []string) (*httptest.ResponseRecorder, error) {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
	req.Header["Accept-Encoding"] = accept
	w := httptest.NewRecorder()
	w.Header().Set("X-Outer", "1")
	return w, r.Replay(w, req, nil)
}

// TestAccept shows what becomes of a gzip body: sent, decoded or refused.
func TestAccept(t *testing.T) {
	t.Parallel()
	const sent, decoded, refused = "sent", "decoded", "refused"
	for _, tc := range []struct {
		accept []string
		want   string
	}{
		{nil, sent}, // all is acceptable
		{[]string{""}, decoded},
		{[]string{"gzip"}, sent},
		{[]string{"GZip"}, sent},
		{[]string{"x-gzip"}, sent},
		{[]string{"br, gzip;q=0.5"}, sent},
		{[]string{"br", "gzip"}, sent},
		{[]string{"gzip ; Q = 0.001"}, sent},
		{[]string{"*"}, sent},
		{[]string{"br;q=1.0, *;q=0.1"}, sent},
		{[]string{"br"}, decoded},
		{[]string{"identity"}, decoded},
		{[]string{"gzip;q=0"}, decoded},
		{[]string{"gzip;q=0.000, *"}, decoded},
		{[]string{"gzip;q=0, gzip"}, decoded},
		{[]string{"*;q=0, identity;q=0.1"}, decoded},
		{[]string{"identity, *;q=0"}, decoded},
		{[]string{"gzip;q=0.0001"}, decoded}, // malformed: nothing is said
		{[]string{"gzip;q=2"}, decoded},
		{[]string{"gzip;q"}, decoded},
		{[]string{"gzip;level=9"}, decoded},
		{[]string{"gzip;q=-1, ;q=1, ,"}, decoded},
		{[]string{"gzipp, gz"}, decoded},
		{[]string{"*;q=0"}, refused},
		{[]string{"br, *;q=0"}, refused},
		{[]string{"identity;q=0"}, refused},
		{[]string{"gzip;q=0, identity;q=0"}, refused},
		{[]string{"*;q=0, *"}, refused},
	} {
		r := coded("plain", "gzip")
		w, err := replayed(t, r, tc.accept)
		if tc.want == refused {
			require.ErrorIs(t, err, response.ErrNotAcceptable, "%q", tc.accept)
			require.Equal(t, http.Header{"X-Outer": {"1"}}, w.Header(), "nothing is touched")
			require.Empty(t, w.Body.Bytes())
			continue
		}
		require.NoError(t, err, "%q", tc.accept)
		require.Equal(t, http.StatusCreated, w.Code)
		require.Equal(t, "Accept-Encoding", w.Header().Get("Vary"))
		if tc.want == sent {
			require.Equal(t, r.Body, w.Body.Bytes(), "%q", tc.accept)
			require.Equal(t, "gzip", w.Header().Get("Content-Encoding"))
			require.Equal(t, `"v1"`, w.Header().Get("Etag"))
			require.Contains(t, w.Header(), "Repr-Digest")
			continue
		}
		require.Equal(t, "plain", w.Body.String(), "%q", tc.accept)
		require.Equal(t, "5", w.Header().Get("Content-Length"))
		require.NotContains(t, w.Header(), "Content-Encoding")
		require.NotContains(t, w.Header(), "Repr-Digest")
		require.Equal(t, `W/"v1"`, w.Header().Get("Etag"), "other bytes than the strong tag promised")
	}
}

// TestDecode shows which codings are undone, and that none is done half.
func TestDecode(t *testing.T) {
	t.Parallel()
	identity := []string{"identity"}
	for _, codings := range [][]string{{"gzip"}, {"x-gzip"}, {"deflate"}, {"raw deflate"}, {"deflate", "gzip"}, {"identity", "gzip"}} {
		r := coded("plain", codings...)
		if codings[0] == "identity" {
			r.Body = code("gzip", []byte("plain"))
		}
		w, err := replayed(t, r, identity)
		require.NoError(t, err, codings)
		require.Equal(t, "plain", w.Body.String(), codings)
	}

	broken := coded("plain", "gzip")
	broken.Body = broken.Body[:len(broken.Body)-3]
	partial := coded("plain", "gzip")
	partial.Status = http.StatusPartialContent
	bomb := coded("", "gzip")
	bomb.Body = code("gzip", make([]byte, 8<<20+1))
	for name, r := range map[string]response.Recorded{
		"unknown": coded("plain", "br"), "unknown inside": coded("plain", "br", "gzip"),
		"broken": broken, "no gzip": {Status: 200, Whole: true, Body: []byte("plain"), Changes: broken.Changes[:1]},
		"part of a coded body": partial, "too large": bomb,
	} {
		w, err := replayed(t, r, identity)
		require.ErrorIs(t, err, response.ErrNotAcceptable, name)
		require.Empty(t, w.Body.Bytes(), name)
		_, err = replayed(t, r, []string{"gzip, br"})
		require.NoError(t, err, name)
	}

	none := coded("", "br")
	none.Body = nil
	w, err := replayed(t, none, identity)
	require.NoError(t, err, "no body is in no coding")
	require.Equal(t, "br", w.Header().Get("Content-Encoding"))
	plain := coded("plain", "identity")
	plain.Body = []byte("plain")
	_, err = replayed(t, plain, []string{"identity;q=0"})
	require.NoError(t, err, "what was never coded has no other form")
	weak := coded("plain", "gzip")
	weak.Changes[2].Values = []string{`W/"v1"`}
	w, err = replayed(t, weak, identity)
	require.NoError(t, err)
	require.Equal(t, `W/"v1"`, w.Header().Get("Etag"))
}

// TestReplayConnection shows that a replay fails with its connection.
func TestReplayConnection(t *testing.T) {
	t.Parallel()
	w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
	recorded := response.Recorded{Status: http.StatusOK, Whole: true, Body: []byte("x")}
	require.Equal(t, io.ErrClosedPipe, recorded.Replay(failing{w, io.ErrClosedPipe}, r, nil))
}

// FuzzAccept gives any Accept-Encoding. Whatever it says, the answer is one of
// three, and what is refused by name alone is not sent.
func FuzzAccept(f *testing.F) {
	for _, s := range []string{"", "gzip", "*;q=0", "gzip;q=0.5, br", "identity;q=0,gzip;q=0", " , ;;=q"} {
		f.Add(s)
	}
	r := coded("plain", "gzip")
	f.Fuzz(func(t *testing.T, accept string) {
		w, err := replayed(t, r, []string{accept})
		switch {
		case err != nil:
			require.ErrorIs(t, err, response.ErrNotAcceptable)
			require.Contains(t, accept, "0")
		case w.Header().Get("Content-Encoding") == "gzip":
			require.Equal(t, r.Body, w.Body.Bytes())
			require.True(t, strings.Contains(strings.ToLower(accept), "gzip") || strings.Contains(accept, "*"), accept)
		default:
			require.Equal(t, "plain", w.Body.String())
		}
	})
}
