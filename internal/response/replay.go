package response

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
)

// ErrNotReplayable is Replay's answer if there is no final status to send: the
// connection was taken over.
var ErrNotReplayable = errors.New("response: nothing to replay")

// Replay answers req with r. It lays r over the header that w has, passes that to
// mark, which may be nil, and sends it with the body and the trailers. A
// tombstone is sent without a body.
//
// A body in gzip or deflate that req does not accept is decoded.
//
// Errors: ErrNotAcceptable if req accepts no form of the body that there is, and
// ErrNotReplayable; w and its header are untouched then. Any other is that of
// the connection.
func (r Recorded) Replay(w http.ResponseWriter, req *http.Request, mark func(http.Header)) error {
	if r.Status < 200 {
		return ErrNotReplayable
	}
	body, decoded, err := r.bodyFor(req)
	if err != nil {
		return err
	}
	h := w.Header()
	apply(h, r.Changes)
	if decoded {
		describeDecoded(h)
	}
	remove(h, "Content-Length")
	if len(body) > 0 && !has(h, "Content-Type") {
		h["Content-Type"] = nil // or net/http would guess one
	}
	if mark != nil {
		mark(h)
	}
	return deliver(w, req, r.Status, body, r.Trailers)
}

// describeDecoded makes the header h of a coded body that of the decoded one.
func describeDecoded(h http.Header) {
	remove(h, "Content-Encoding")
	// These are of the coded bytes (RFC 9530).
	remove(h, "Content-Digest")
	remove(h, "Repr-Digest")
	remove(h, "Digest")
	remove(h, "Content-Md5")
	// A strong tag promises bytes (RFC 9110, section 8.8.1).
	for name, tags := range h {
		if strings.EqualFold(name, "Etag") && len(tags) > 0 && strings.HasPrefix(tags[0], `"`) {
			h[name] = []string{"W/" + tags[0]}
		}
	}
}

// deliver sends a whole answer, whose header w has. Trailers, also of outer
// middleware, make it chunked.
func deliver(w http.ResponseWriter, req *http.Request, status int, body []byte, trailers []Change) error {
	h := w.Header()
	if !allowsBody(status) || req.Method == http.MethodHead {
		w.WriteHeader(status)
		return nil
	}
	announce(h, trailers)
	if !announces(h) && !has(h, "Content-Length") && !has(h, "Transfer-Encoding") {
		h.Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(status)
	if len(body) > 0 {
		if _, err := w.Write(body); err != nil {
			return err
		}
	}
	apply(h, trailers)
	return nil
}

// has reports whether h has name, in any case of letters.
func has(h http.Header, name string) bool {
	for key := range h {
		if strings.EqualFold(key, name) {
			return true
		}
	}
	return false
}

// remove deletes name from h, in any case of letters.
func remove(h http.Header, name string) {
	for key := range h {
		if strings.EqualFold(key, name) {
			delete(h, key)
		}
	}
}
