package response

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// DefaultLimit is how much of a body is recorded if Options do not say, in bytes.
const DefaultLimit = 256 << 10

// ErrFinished is what a Recorder answers once its handler has returned.
var ErrFinished = errors.New("response: the handler has returned")

// Options of a Recorder. The zero value is a tee.
type Options struct {
	// Limit is the size, in bytes, of the largest body that is recorded. What
	// is larger still reaches the client and leaves a tombstone.
	// Default: DefaultLimit, also if negative.
	Limit int

	// HoldBack keeps everything from the client until Send. If the body
	// outgrows Limit, or is an event stream, the answer is sent as far as it
	// has come and streamed from there.
	// Default: false, the client gets what is written when it is written.
	HoldBack bool

	// DropBody, with HoldBack, drops such a body instead and sends the status
	// without it. The connection cannot be hijacked.
	// Default: false.
	DropBody bool

	// Drop lists header names that are never recorded besides those that never
	// are, in any case of letters. One that ends in * stands for all that begin
	// so.
	// Default: none.
	Drop []string
}

// Recorder is the http.ResponseWriter that a handler gets while its answer is
// recorded. It is safe for concurrent use, but for the map that Header returns;
// calls take turns.
type Recorder struct {
	w       http.ResponseWriter
	request *http.Request
	limit   int
	drop    []string

	// header is the handler's own. It is read only within the calls that make it
	// final and, at the end, for trailers: see readTrailers.
	header http.Header
	before http.Header // what was prepared for the handler; read-only

	mu       sync.Mutex
	held     bool        // nothing has been sent yet
	dropping bool        // Options.DropBody
	informed http.Header // the header as a 1xx last carried it, or nil
	ended    error       // why the handler can write no more, or nil
	gone     error       // why the client gets no more, or nil
	hijacked bool

	// From here on all is set with the final header.
	status    int      // 0: not yet
	changes   []Change // from before to the final header
	declared  int64    // Content-Length, or -1
	bodyless  bool     // HEAD, or a status that has no body
	sniffs    bool     // net/http will determine the Content-Type
	announced []string // declared trailers, canonical
	trailing  bool     // trailers must be looked for at the end
	flushed   bool     // the header is known to be on its way
	touched   bool     // the handler asked for its header again

	whole    bool   // body is all that was written
	dropped  bool   // the body will not be sent
	written  int64  // bytes that the handler wrote, kept or not
	body     []byte // with room for Encode behind it
	trailers []Change
}

// NewRecorder returns the Recorder of the answer to r, for whose handler w and
// its header have been prepared.
func NewRecorder(w http.ResponseWriter, r *http.Request, o Options) *Recorder {
	if o.Limit <= 0 {
		o.Limit = DefaultLimit
	}
	rec := &Recorder{
		w:        w,
		request:  r,
		limit:    o.Limit,
		drop:     o.Drop,
		held:     o.HoldBack,
		dropping: o.HoldBack && o.DropBody,
		whole:    true,
	}
	outer := w.Header()
	if len(outer) > 0 {
		rec.before = maps.Clone(outer)
		rec.header = outer.Clone()
	} else {
		rec.header = make(http.Header)
	}
	return rec
}

// Header returns the handler's own header map. Changes after the final
// WriteHeader have no effect, but for trailers, as in net/http. One difference:
// a handler that sets a trailer of which the final header said nothing asks for
// the map again.
func (rec *Recorder) Header() http.Header {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.touched = rec.status != 0
	return rec.header
}

// WriteHeader sends the header with status. A 1xx, but 101, is passed on and is
// not the answer; while the answer is held back it is left out. Later calls have
// no effect. It panics if status is not from 100 to 999, as net/http does.
func (rec *Recorder) WriteHeader(status int) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if rec.ended != nil || rec.hijacked || rec.status != 0 {
		return
	}
	if status < 100 || status > 999 {
		panic(fmt.Sprintf("response: WriteHeader with the invalid status %d", status))
	}
	if status >= 200 || status == http.StatusSwitchingProtocols {
		rec.commit(status)
		return
	}
	if rec.held {
		return
	}
	rec.copyOut()
	rec.informed = rec.header.Clone()
	rec.w.WriteHeader(status)
}

// commit makes the header final.
func (rec *Recorder) commit(status int) {
	h := rec.header
	rec.status = status
	rec.changes = diff(rec.before, h)
	rec.declared = contentLength(h)
	rec.bodyless = !allowsBody(status) || rec.request.Method == http.MethodHead

	// What net/http goes by, and exactly its keys.
	_, typed := h["Content-Type"]
	rec.sniffs = !typed && !rec.bodyless && h.Get("Content-Encoding") == "" && h.Get("Transfer-Encoding") == ""

	for _, name := range tokens(h["Trailer"]) {
		if name = textproto.CanonicalMIMEHeaderKey(name); !slices.Contains(rec.announced, name) {
			rec.announced = append(rec.announced, name)
		}
	}
	rec.trailing = len(rec.announced) > 0
	for _, c := range rec.changes {
		rec.trailing = rec.trailing || rec.trails(c.Name)
	}

	held := rec.held
	if status == http.StatusSwitchingProtocols || isEventStream(h.Get("Content-Type")) ||
		rec.declared > int64(rec.limit) && !rec.bodyless {
		rec.forget()
	}
	if !held {
		rec.copyOut()
		rec.w.WriteHeader(status)
	}
}

// copyOut brings the header below up to date with the handler's. Only what
// changed is copied: writers in between may have added to it.
func (rec *Recorder) copyOut() {
	changes := rec.changes
	if rec.informed != nil {
		changes = diff(rec.informed, rec.header)
	} else if rec.status == 0 {
		changes = diff(rec.before, rec.header)
	}
	apply(rec.w.Header(), changes)
}

// release ends the holding back.
func (rec *Recorder) release() {
	rec.held = false
	rec.copyOut()
	rec.w.WriteHeader(rec.status)
	if len(rec.body) > 0 {
		if _, err := rec.w.Write(rec.body); err != nil {
			rec.gone = err
		}
	}
}

// forget leaves a tombstone of the answer. What is held back is sent, or
// dropped.
func (rec *Recorder) forget() {
	switch {
	case !rec.held:
	case rec.dropping:
		rec.dropped = true
	default:
		rec.release()
	}
	rec.whole, rec.body = false, nil
}

// contentLength returns the length that h declares, -1 if none or no number.
func contentLength(h http.Header) int64 {
	text := h.Get("Content-Length")
	if text == "" { // most have none, and an error is an allocation
		return -1
	}
	n, err := strconv.ParseInt(textproto.TrimString(text), 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// allowsBody reports whether an answer of status can have a body (RFC 9110,
// section 6.4.1).
func allowsBody(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}

// isEventStream reports whether an answer of this Content-Type never ends by
// itself.
func isEventStream(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(textproto.TrimString(media), "text/event-stream")
}

// tokens returns the elements of a comma-separated list in several lines.
func tokens(lines []string) []string {
	var all []string
	for _, line := range lines {
		for token := range strings.SplitSeq(line, ",") {
			if token = textproto.TrimString(token); token != "" {
				all = append(all, token)
			}
		}
	}
	return all
}
