package response

import (
	"errors"
	"maps"
	"net/http"
	"strings"
)

// errEarly is Send's answer before Finish.
var errEarly = errors.New("response: Send before Finish")

// Finish ends the recording, after the handler has returned, and returns what it
// left. A handler that wrote nothing has answered 200. Unless the answer is held
// back, its header and trailers go out. It is called once.
func (rec *Recorder) Finish() Recorded {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if rec.ended != nil {
		return Recorded{Status: rec.status}
	}
	if rec.hijacked {
		rec.ended = ErrFinished
		if rec.status == 0 {
			rec.status = http.StatusSwitchingProtocols
		}
		return Recorded{Status: rec.status}
	}
	if rec.status == 0 {
		rec.commit(http.StatusOK)
	}
	rec.ended = ErrFinished
	rec.sniff()
	rec.readTrailers()
	if !rec.held {
		apply(rec.w.Header(), rec.trailers) // the server sends them when all handlers have returned
	}
	r := Recorded{
		Status:   rec.status,
		Changes:  rec.keep(rec.changes, ""),
		Trailers: rec.keep(rec.trailers, http.TrailerPrefix),
	}
	cut := rec.declared >= 0 && rec.written != rec.declared && !rec.bodyless
	if rec.whole && !cut && r.size() <= maxHead {
		r.Whole, r.Body = true, rec.body
	}
	return r
}

// Abandon ends the recording of a handler that did not return: it panicked, or
// ended its goroutine. Nothing is kept, and what was held back is never sent.
func (rec *Recorder) Abandon() {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.ended, rec.held = ErrFinished, false
}

// Send sends what was held back, after Finish; the Recorded of which is as good
// as before. Without anything held back it does nothing. The error is that of
// the connection.
func (rec *Recorder) Send() error {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	switch {
	case rec.ended == nil:
		return errEarly
	case !rec.held:
		return nil
	}
	rec.held = false
	h := rec.w.Header()
	apply(h, rec.changes)
	body, trailers := rec.body, rec.trailers
	if rec.dropped {
		trailers = nil
		for _, name := range []string{"Content-Length", "Content-Type", "Content-Encoding", "Content-Range", "Trailer"} {
			delete(h, name)
		}
		maps.DeleteFunc(h, func(key string, _ []string) bool { return strings.HasPrefix(key, http.TrailerPrefix) })
	}
	return deliver(rec.w, rec.request, rec.status, body, trailers)
}

// sniff records the Content-Type that net/http finds for a body without one. It
// is called when the header has to go: at the first flush, or at the end.
func (rec *Recorder) sniff() {
	if rec.sniffs && len(rec.body) > 0 {
		rec.changes = append(rec.changes, Change{
			Name:   "Content-Type",
			Values: []string{http.DetectContentType(rec.body)},
		})
	}
	rec.sniffs = false
}
