package webhooktest

import (
	"bytes"
	"io"
	"net/http"
	"time"
)

// setBody makes body the body of req.
func setBody(req *http.Request, body []byte) {
	body = bytes.Clone(body)
	req.Body = io.NopCloser(bytes.NewReader(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.ContentLength, req.TransferEncoding = int64(len(body)), nil
	if req.Header == nil {
		req.Header = http.Header{}
	}
	if req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
}

// or returns at, or now if it is zero.
func or(at time.Time) time.Time {
	if at.IsZero() {
		return time.Now()
	}
	return at
}
