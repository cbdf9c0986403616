package response

import (
	"net/http"
	"slices"
	"strings"
)

// netHTTPBuffer is how much of an HTTP/1 body net/http collects, in bytes,
// before it must decide on the header.
const netHTTPBuffer = 2 << 10

// readTrailers collects the handler's trailers at its end.
//
// A goroutine that the handler left behind may be at work on the header map, so
// that is read only if the handler uses trailers. Those that nothing announced
// are looked for if it asked for the map again after its header, and only where
// net/http would send them: not behind an HTTP/1 body that was short enough to
// be sent with its length.
func (rec *Recorder) readTrailers() {
	sent := rec.flushed || rec.written > netHTTPBuffer || rec.request.ProtoMajor >= 2
	if rec.bodyless || !rec.trailing && !(rec.touched && sent) {
		return
	}
	for key, values := range rec.header {
		if rec.trails(key) && !slices.Equal(values, rec.before[key]) {
			rec.trailers = append(rec.trailers, Change{Name: key, Values: slices.Clone(values)})
		}
	}
	// What was in the header and is no trailer any more.
	for _, c := range rec.changes {
		if _, has := rec.header[c.Name]; !has && rec.trails(c.Name) {
			rec.trailers = append(rec.trailers, Change{Name: c.Name, How: Remove})
		}
	}
}

// trails reports whether key of the handler's map is a trailer.
func (rec *Recorder) trails(key string) bool {
	return strings.HasPrefix(key, http.TrailerPrefix) || slices.Contains(rec.announced, key)
}

// announce prepares h, which has not been sent, for trailers: those that the
// handler did not announce are put there already, by which net/http knows that
// there will be some.
func announce(h http.Header, trailers []Change) {
	announced := tokens(h["Trailer"])
	for _, t := range trailers {
		named := func(name string) bool { return strings.EqualFold(name, t.Name) }
		switch {
		case strings.HasPrefix(t.Name, http.TrailerPrefix):
			apply(h, []Change{t})
		case !slices.ContainsFunc(announced, named):
			h.Add("Trailer", t.Name)
		}
	}
}

// announces reports whether trailers may follow an answer with the header h.
func announces(h http.Header) bool {
	for key := range h {
		if key == "Trailer" || strings.HasPrefix(key, http.TrailerPrefix) {
			return true
		}
	}
	return false
}
