package response

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
)

var (
	_ http.ResponseWriter = (*Recorder)(nil)
	_ http.Flusher        = (*Recorder)(nil)
	_ http.Hijacker       = (*Recorder)(nil)
	_ http.Pusher         = (*Recorder)(nil)
	_ io.ReaderFrom       = (*Recorder)(nil)
	_ io.StringWriter     = (*Recorder)(nil)
)

// Unwrap returns the writer below, for what http.ResponseController does not
// find here: deadlines and full duplex.
func (rec *Recorder) Unwrap() http.ResponseWriter { return rec.w }

// Flush is FlushError for those who do not ask.
func (rec *Recorder) Flush() { _ = rec.FlushError() }

// FlushError sends what has been written. It does nothing while the answer is
// held back or after the client left. Error: http.ErrNotSupported if the writer
// below cannot flush, ErrFinished, and that of the connection if the answer
// cannot be kept anyway.
func (rec *Recorder) FlushError() error {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	switch {
	case rec.ended != nil:
		return rec.ended
	case rec.hijacked:
		return http.ErrHijacked
	case rec.status == 0:
		rec.commit(http.StatusOK)
	}
	rec.flushed = true
	if rec.held {
		return nil
	}
	if rec.gone == nil {
		err := http.NewResponseController(rec.w).Flush()
		if errors.Is(err, http.ErrNotSupported) {
			return err
		}
		rec.gone = err
	}
	rec.sniff()
	if rec.whole {
		return nil
	}
	return rec.gone
}

// Hijack hands over the connection. The record becomes a tombstone, of the
// status 101 if the handler has sent none. Error: http.ErrNotSupported, also
// where a body is dropped rather than streamed; ErrFinished.
func (rec *Recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if rec.ended != nil {
		return nil, nil, rec.ended
	}
	if rec.dropping {
		return nil, nil, fmt.Errorf("response: an answer that is held back: %w", http.ErrNotSupported)
	}
	if rec.held && rec.status != 0 {
		rec.release() // the header goes before what is hijacked
	}
	conn, rw, err := http.NewResponseController(rec.w).Hijack()
	if err != nil {
		return nil, nil, err
	}
	rec.hijacked, rec.held = true, false
	return conn, rw, nil
}

// Push starts an HTTP/2 server push. Error: http.ErrNotSupported, also while the
// answer is held back; ErrFinished.
func (rec *Recorder) Push(target string, o *http.PushOptions) error {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if rec.ended != nil {
		return rec.ended
	}
	if rec.held {
		return http.ErrNotSupported
	}
	for w := rec.w; ; {
		switch below := w.(type) {
		case http.Pusher:
			return below.Push(target, o)
		case interface{ Unwrap() http.ResponseWriter }:
			w = below.Unwrap()
		default:
			return http.ErrNotSupported
		}
	}
}
