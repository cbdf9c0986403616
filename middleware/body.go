package middleware

import (
	"bytes"
	"context"
	"io"
	"net/http"
)

// maxTrusted is the largest Content-Length, in bytes, for which room is made
// before the body has come: who declares more has to send it first.
const maxTrusted = 1 << 20

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
