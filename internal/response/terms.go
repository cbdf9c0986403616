package response

import (
	"net/http"
	"strconv"
	"time"
)

// Codec names the encoding of Encode in an idempotency record.
const Codec = "http1"

// replayed is the header that says of an answer that it was recorded earlier.
const replayed = "Idempotent-Replayed"

// MarkReplayed marks the answer with header h as one that was recorded earlier.
func MarkReplayed(h http.Header) { h.Set(replayed, "true") }

// The bounds of when to ask again for what is held. A lease is renewed for as
// long as its handler runs, so what is left of it says little about when that
// ends; mostly it is soon, and who asks every few seconds does no harm.
const (
	MinRetry = time.Second
	MaxRetry = 5 * time.Second
)

// SoonAfter returns when to ask again for what is held for d, within the bounds.
func SoonAfter(d time.Duration) time.Duration { return min(max(d, MinRetry), MaxRetry) }

// RetryAfter is the value of the header of that name: d in seconds, rounded up,
// at least 1 (RFC 9110, section 10.2.3).
func RetryAfter(d time.Duration) string {
	seconds := int64(d / time.Second)
	if d%time.Second > 0 {
		seconds++
	}
	return strconv.FormatInt(max(1, seconds), 10)
}
