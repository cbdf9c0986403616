package response

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
)

// ErrNotAcceptable says that the body is in a content coding that the request
// does not accept and that cannot be undone here.
var ErrNotAcceptable = errors.New("response: content coding not acceptable")

// maxDecoded is how large a body may become by decoding, in bytes.
const maxDecoded = 8 << 20

// bodyFor returns the body in a form that req accepts, and whether it had to be
// decoded.
func (r Recorded) bodyFor(req *http.Request) (body []byte, decoded bool, err error) {
	var codings []string
	for _, c := range r.Changes {
		if strings.EqualFold(c.Name, "Content-Encoding") {
			codings = append(codings, tokens(c.Values)...)
		}
	}
	codings = slices.DeleteFunc(codings, func(c string) bool { return strings.EqualFold(c, "identity") })
	accepted := req.Header["Accept-Encoding"]
	if len(r.Body) == 0 || !slices.ContainsFunc(codings, func(c string) bool { return !accepts(accepted, c) }) {
		return r.Body, false, nil
	}
	partial := r.Status == http.StatusPartialContent
	if partial || !accepts(accepted, "identity") {
		return nil, false, ErrNotAcceptable
	}
	body = r.Body
	for _, coding := range slices.Backward(codings) { // the last one was applied last
		if body, err = decode(coding, body); err != nil {
			return nil, false, fmt.Errorf("%w: %w", err, ErrNotAcceptable)
		}
	}
	return body, true, nil
}

// accepts reports whether the lines of an Accept-Encoding header accept coding
// (RFC 9110, section 12.5.3). No header accepts all. What is malformed says
// nothing; of what is said twice the first counts.
func accepts(lines []string, coding string) bool {
	if len(lines) == 0 {
		return true
	}
	coding = alias(coding)
	others := strings.EqualFold(coding, "identity") // unless it is refused
	starred := false
	for _, element := range tokens(lines) {
		name, ok, valid := parseCoding(element)
		switch {
		case !valid:
		case strings.EqualFold(alias(name), coding):
			return ok
		case name == "*" && !starred:
			others, starred = ok, true
		}
	}
	return others
}

// parseCoding parses an element of Accept-Encoding: a coding, and whether its
// weight is above 0.
func parseCoding(element string) (name string, ok, valid bool) {
	name, params, weighted := strings.Cut(element, ";")
	name = textproto.TrimString(name)
	if !weighted {
		return name, true, name != ""
	}
	key, q, found := strings.Cut(params, "=")
	q = textproto.TrimString(q)
	if name == "" || !found || !strings.EqualFold(textproto.TrimString(key), "q") || !isWeight(q) {
		return name, false, false
	}
	return name, strings.Trim(q, "0.") != "", true
}

// isWeight reports whether q is a qvalue (RFC 9110, section 12.4.2).
func isWeight(q string) bool {
	whole, fraction, _ := strings.Cut(q, ".")
	digits := "0123456789"
	switch whole {
	case "0":
	case "1":
		digits = "0"
	default:
		return false
	}
	return len(fraction) <= 3 && strings.Trim(fraction, digits) == ""
}

// alias returns the name that coding is registered under (RFC 9110, section
// 8.4.1.3).
func alias(coding string) string {
	if strings.EqualFold(coding, "x-gzip") {
		return "gzip"
	}
	return coding
}

// decode undoes one coding of body.
func decode(coding string, body []byte) ([]byte, error) {
	var in io.Reader
	var err error
	switch coding = strings.ToLower(alias(coding)); coding {
	case "gzip":
		in, err = gzip.NewReader(bytes.NewReader(body))
	case "deflate":
		// The coding is zlib's format; some send what is inside alone.
		if in, err = zlib.NewReader(bytes.NewReader(body)); err != nil {
			in, err = flate.NewReader(bytes.NewReader(body)), nil
		}
	default:
		return nil, errors.New("unknown")
	}
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	n, err := io.Copy(&out, io.LimitReader(in, maxDecoded+1))
	switch {
	case err != nil:
		return nil, err
	case n > maxDecoded:
		return nil, fmt.Errorf("more than %d bytes", maxDecoded)
	}
	return out.Bytes(), nil
}
