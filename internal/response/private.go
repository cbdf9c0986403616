package response

import (
	"cmp"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
)

// keep returns those changes that may be replayed to somebody else, in the order
// of their names, which begin with prefix if they are trailers'.
func (rec *Recorder) keep(changes []Change, prefix string) []Change {
	if len(changes) == 0 {
		return nil
	}
	drop := rec.drop
	for _, c := range changes {
		if strings.EqualFold(c.Name, "Connection") {
			drop = append(slices.Clip(drop), tokens(c.Values)...)
		}
	}
	kept := make([]Change, 0, len(changes))
	for _, c := range changes {
		if name := strings.TrimPrefix(c.Name, prefix); !private(name) && !matches(drop, name) {
			kept = append(kept, c)
		}
	}
	slices.SortFunc(kept, func(a, b Change) int { return cmp.Compare(a.Name, b.Name) })
	return kept
}

// private reports whether a header of this name belongs to one request, caller
// or connection, and is not recorded.
func private(name string) bool {
	switch name = textproto.CanonicalMIMEHeaderKey(name); name {
	case
		// Who the caller is, or is to become (RFC 9110, section 11; RFC 7615).
		"Set-Cookie", "Set-Cookie2",
		"Www-Authenticate", "Authentication-Info",
		"Proxy-Authenticate", "Proxy-Authorization", "Proxy-Authentication-Info",
		"Clear-Site-Data",
		// This connection (RFC 9110, section 7.6.1), and how this message is
		// framed. Trailers are recorded by themselves.
		"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Transfer-Encoding", "Upgrade",
		"Content-Length", "Trailer",
		// When: a replay is sent now.
		"Date", "Age",
		// What one request was called, and how it fared.
		"Traceparent", "Tracestate", "Traceresponse", "Baggage",
		"X-Request-Id", "X-Correlation-Id", "Request-Id", "Correlation-Id",
		"X-Amzn-Trace-Id", "X-Amzn-Requestid", "X-Cloud-Trace-Context", "X-Trace-Id",
		"B3", "Uber-Trace-Id", "Server-Timing",
		// Ours: a replay says so itself.
		replayed:
		return true
	}
	for _, prefix := range []string{
		"Access-Control-", "Ratelimit", "X-Ratelimit-", "X-Rate-Limit-", "X-B3-", http.TrailerPrefix,
	} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// matches reports whether names has name, in any case of letters, or a beginning
// of it with a * behind.
func matches(names []string, name string) bool {
	for _, n := range names {
		prefix, open := strings.CutSuffix(n, "*")
		switch {
		case strings.EqualFold(n, name):
			return true
		case open && len(name) >= len(prefix) && strings.EqualFold(prefix, name[:len(prefix)]):
			return true
		}
	}
	return false
}
