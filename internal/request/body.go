// Package request reads the body of a request, whole and within a limit, before
// anything is done for it. It does not look at what the body holds.
package request

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// ErrTooLarge says that a body is larger than it may be: than our limit, or than
// that of an http.MaxBytesReader before us.
var ErrTooLarge = errors.New("request: body too large")

// Body reads from, which may be nil, to its end. length is what the sender says,
// negative if it does not. A body that is declared to be larger than limit is not
// read at all, so that a client which waits for "100 Continue" does not send it.
// Room is made for no more than trusted bytes before they have come: who declares
// more has to send it first.
//
// Error: ErrTooLarge, or from's own.
func Body(from io.Reader, length, limit, trusted int64) ([]byte, error) {
	if from == nil || from == http.NoBody {
		return nil, nil
	}
	if length > limit {
		return nil, ErrTooLarge
	}
	if length < 0 {
		length = bytes.MinRead
	}
	body := make([]byte, 0, min(length, trusted, limit)+1) // one more, which finds the end
	for {
		n, err := from.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case int64(len(body)) > limit:
			return nil, ErrTooLarge
		case err == io.EOF:
			return body, nil
		case errors.As(err, new(*http.MaxBytesError)):
			return nil, fmt.Errorf("%w: %w", ErrTooLarge, err)
		case err != nil:
			return nil, err
		case len(body) == cap(body):
			body = append(body, 0)[:len(body)]
		}
	}
}
