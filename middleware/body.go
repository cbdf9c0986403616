package middleware

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
)

// maxTrusted is the largest Content-Length, in bytes, for which room is made
// before the body has come: who declares more has to send it first.
const maxTrusted = 1 << 20

// errBodyTooLarge says that a body is larger than it may be.
var errBodyTooLarge = errors.New("middleware: request body too large")

// readBody reads the body of r, of at most limit bytes, to its end. One that is
// declared to be larger is not read at all, so that a client which waits for
// "100 Continue" does not send it.
//
// Error: errBodyTooLarge, or the body's own.
func readBody(r *http.Request, limit int64) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	room := r.ContentLength
	if room > limit {
		return nil, errBodyTooLarge
	}
	if room < 0 {
		room = bytes.MinRead
	}
	body := make([]byte, 0, min(room, maxTrusted, limit)+1) // one more, which finds the end
	for {
		n, err := r.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case int64(len(body)) > limit:
			return nil, errBodyTooLarge
		case err == io.EOF:
			return body, nil
		case err != nil:
			return nil, err
		case len(body) == cap(body):
			body = append(body, 0)[:len(body)]
		}
	}
}

// tooLarge reports whether err, of readBody, is about the size: our limit, or
// that of an http.MaxBytesReader before us.
func tooLarge(err error) bool {
	_, ok := errors.AsType[*http.MaxBytesError](err)
	return ok || errors.Is(err, errBodyTooLarge)
}

// restored is a body that has been read, to be read again.
type restored struct {
	bytes.Reader
	io.Closer // the original's
}

// restore returns r with ctx and with its body, which was read, as if it had
// not been. Its trailers, which came with the end of the body, are there at
// once.
//
// It has no GetBody, as a server's request has none. To http.Transport one
// means, together with the key in the header, that it may send the request
// again of its own accord: a handler that passes it on would have its effect
// twice in one run.
func restore(ctx context.Context, r *http.Request, body []byte) *http.Request {
	original := r.Body
	r = r.WithContext(ctx)
	if original == nil || original == http.NoBody {
		return r
	}
	again := &restored{Closer: original}
	again.Reset(body)
	r.Body = again
	return r
}

// giveBack tells whoever gave us r what a handler left in its copy of it: the
// server removes the files of a form when the request is over, and middleware
// outside of us looks at the pattern that matched.
func giveBack(r, handled *http.Request) {
	if r.MultipartForm == nil {
		r.MultipartForm = handled.MultipartForm
	}
	if handled.Pattern != "" {
		r.Pattern = handled.Pattern
	}
}
