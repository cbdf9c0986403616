package webhook

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math"
	"net/http"
	"strings"
)

// What reading a body can fail with, besides the transport's own errors.
var (
	errTooLarge = Refuse(TooLarge, nil)
	errEncoding = Refuse(Malformed, errors.New("the body has a Content-Encoding"))
	errEncoded  = Refuse(Malformed, errors.New("the body is not what its Content-Encoding says"))
)

// firstRead is how much memory a body of unknown length gets to begin with, and
// the most that a Content-Length gets before any of the body has come.
const firstRead = 64 << 10

// readBody returns the body of r, raw and whole. One that is cut off, or larger
// than limit, is an error: a part of a body is never verified.
func readBody(r *http.Request, limit int64, decompress bool) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, errTooLarge
	}
	encoding := strings.ToLower(strings.TrimSpace(strings.Join(r.Header.Values("Content-Encoding"), ",")))
	switch {
	case encoding == "" || encoding == "identity":
		return readAll(r.Body, r.ContentLength, limit)
	case !decompress || encoding != "gzip" && encoding != "x-gzip":
		return nil, errEncoding
	}
	raw, err := readAll(r.Body, r.ContentLength, limit)
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, errEncoded
	}
	body, err := readAll(z, -1, limit) // a bomb is cut off here
	if err != nil && err != errTooLarge {
		return nil, errEncoded
	}
	return body, err
}

// readAll reads from until its end, which must come within limit bytes. length
// is what the sender says, -1 if it does not.
func readAll(from io.Reader, length, limit int64) ([]byte, error) {
	if from == nil {
		return nil, nil
	}
	var buf bytes.Buffer
	buf.Grow(int(min(max(length, 0), firstRead, limit)) + bytes.MinRead) // which ReadFrom wants free to find the end
	_, err := buf.ReadFrom(io.LimitReader(from, min(limit, math.MaxInt64-1)+1))
	switch {
	case errors.As(err, new(*http.MaxBytesError)), int64(buf.Len()) > limit:
		return nil, errTooLarge
	case err != nil:
		return nil, err
	}
	return buf.Bytes(), nil
}

// withBody returns r for the handler of one event: with its body, readable
// again, in the place of the one that was read. It sets no GetBody: a Transport
// behind the handler would take the request for one that it may send twice.
func withBody(r *http.Request, body []byte) *http.Request {
	r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	if r.Header.Get("Content-Encoding") != "" {
		r.Header = r.Header.Clone()
		r.Header.Del("Content-Encoding")
	}
	return r
}
