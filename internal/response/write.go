package response

import (
	"errors"
	"io"
	"net/http"
)

// room is what is kept free behind a body for Encode, in bytes: the head of a
// usual answer.
const room = 512

// Write records p and sends it. Error: http.ErrBodyNotAllowed and
// http.ErrContentLength as in net/http, ErrFinished, and that of the connection
// if the answer cannot be kept anyway.
func (rec *Recorder) Write(p []byte) (int, error) { return write(rec, p) }

// WriteString is Write, without a copy of its own.
func (rec *Recorder) WriteString(s string) (int, error) { return write(rec, s) }

// ReadFrom writes all that src has, for io.Copy. It does not hand src to the
// writer below: that would read past the recorder, and stop when the client
// leaves.
func (rec *Recorder) ReadFrom(src io.Reader) (int64, error) {
	var total int64
	buf := make([]byte, 4<<10)
	for {
		n, readErr := src.Read(buf)
		if n > 0 {
			wrote, err := rec.Write(buf[:n])
			total += int64(wrote)
			if err != nil {
				return total, err
			}
		}
		if readErr == io.EOF {
			return total, nil
		}
		if readErr != nil {
			return total, readErr
		}
		if n == len(buf) && n < 32<<10 {
			buf = make([]byte, 2*n)
		}
	}
}

func write[T []byte | string](rec *Recorder, p T) (int, error) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	switch {
	case rec.ended != nil:
		return 0, rec.ended
	case rec.hijacked:
		return 0, http.ErrHijacked
	case rec.status == 0:
		rec.commit(http.StatusOK)
	}
	if len(p) == 0 {
		return 0, nil
	}
	refused := rec.count(len(p))
	if refused == nil && rec.whole && !rec.bodyless {
		record(rec, p)
	}
	if !rec.held && rec.gone == nil {
		n, err := send(rec.w, p)
		if err == nil || !rec.lost(err) {
			return n, err
		}
	}
	switch {
	case refused != nil:
		return 0, refused
	case rec.gone != nil && !rec.whole:
		return 0, rec.gone
	}
	return len(p), nil
}

// count takes note of n bytes and returns what net/http would object to.
func (rec *Recorder) count(n int) error {
	rec.written += int64(n)
	if !allowsBody(rec.status) {
		return http.ErrBodyNotAllowed
	}
	if rec.declared >= 0 && rec.written > rec.declared {
		if !rec.bodyless {
			rec.forget()
		}
		return http.ErrContentLength
	}
	return nil
}

// record keeps p, or nothing if that makes the body too large.
func record[T []byte | string](rec *Recorder, p T) {
	n := len(rec.body) + len(p)
	if n > rec.limit {
		rec.forget()
		return
	}
	if n+room > cap(rec.body) {
		size := max(n, 2*len(rec.body))
		if rec.declared > int64(size) {
			size = int(rec.declared) // once and for all
		}
		body := make([]byte, len(rec.body), min(size, rec.limit)+room)
		copy(body, rec.body)
		rec.body = body
	}
	rec.body = append(rec.body, p...)
}

// lost takes note that sending failed, and reports whether that is because there
// is nobody to send to. The other reasons are the handler's own doing, and what
// it has recorded since is not what the client got.
func (rec *Recorder) lost(err error) bool {
	for _, own := range []error{http.ErrContentLength, http.ErrBodyNotAllowed, http.ErrHijacked} {
		if errors.Is(err, own) {
			if !rec.bodyless {
				rec.forget()
			}
			return false
		}
	}
	rec.gone = err
	return true
}

// send writes p to w.
func send[T []byte | string](w http.ResponseWriter, p T) (int, error) {
	switch p := any(p).(type) {
	case string:
		return io.WriteString(w, p)
	case []byte:
		return w.Write(p)
	}
	return 0, nil
}
