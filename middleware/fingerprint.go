package middleware

import (
	"encoding/binary"
	"net/http"
	"net/url"
	"strings"

	"github.com/semel-go/semel/idempotency"
)

// fingerprintVersion begins what is digested. A change to that needs another
// version, and makes a mismatch of every retry of what was stored before.
const fingerprintVersion = "semel http 1"

// fingerprint digests what a request asks for: method, path and query of its
// target, the media type of its body, and the body, or what stands for it.
//
// The target is taken as it was received. The URL that a handler sees is not
// the same everywhere: what http.StripPrefix or a mounted router has cut off
// would make two routes look alike.
func fingerprint(r *http.Request, body []byte) idempotency.Fingerprint {
	path, query := target(r)
	var room [512]byte // enough for most
	head := appendPart(room[:0], fingerprintVersion)
	head = appendPart(head, r.Method)
	head = appendPart(head, path)
	head = appendPart(head, canonicalQuery(query))
	head = appendPart(head, mediaType(r.Header.Get("Content-Type")))
	return idempotency.FingerprintOf(head, body)
}

// appendPart appends s after its length.
func appendPart(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

// target returns path and query of the request's target. It has a scheme and a
// host before them if the client took us for a proxy, as it may (RFC 9112,
// section 3.2.2); they are dropped, so that such a request is the same one.
func target(r *http.Request) (path, query string) {
	uri := r.RequestURI
	if uri == "" { // not from a server
		uri = r.URL.RequestURI()
	}
	path, query, _ = strings.Cut(uri, "?")
	if strings.HasPrefix(path, "/") {
		return path, query
	}
	if _, rest, ok := strings.Cut(path, "://"); ok {
		_, rest, _ = strings.Cut(rest, "/")
		return "/" + rest, query
	}
	return path, query
}

// canonicalQuery returns a query sorted by name. Values of one name stay in
// their order, which may mean something. What cannot be parsed is equal to
// itself alone.
func canonicalQuery(raw string) string {
	if raw == "" {
		return ""
	}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return raw
	}
	return values.Encode()
}

// mediaType returns a Content-Type without its parameters.
func mediaType(contentType string) string {
	contentType, _, _ = strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(contentType))
}
