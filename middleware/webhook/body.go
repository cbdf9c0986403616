package webhook

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/semel-go/semel/internal/request"
)

// What reading a body can fail with, besides the transport's own errors.
var (
	errTooLarge = Refuse(TooLarge, nil)
	errEncoding = Refuse(Malformed, errors.New("the body has a Content-Encoding"))
	errEncoded  = Refuse(Malformed, errors.New("the body is not what its Content-Encoding says"))
)

// firstRead is the most memory that a Content-Length gets before any of the body
// has come.
const firstRead = 64 << 10

// readBody returns the body of r, raw and whole. One that is cut off, or larger
// than limit, is an error: a part of a body is never verified.
func readBody(r *http.Request, limit int64, decompress bool) ([]byte, error) {
	if r.ContentLength > limit { // however it is encoded
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

// readAll is request.Body in the terms of this package.
func readAll(from io.Reader, length, limit int64) ([]byte, error) {
	body, err := request.Body(from, length, limit, firstRead)
	if errors.Is(err, request.ErrTooLarge) {
		return nil, errTooLarge
	}
	return body, err
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

// forEvent is withBody for what the handler of ev sees.
func forEvent(r *http.Request, ev *Event) *http.Request {
	r = withBody(r, ev.Body)
	if ev.ContentType != "" {
		r.Header = r.Header.Clone()
		r.Header.Set("Content-Type", ev.ContentType)
	}
	return r
}
