package signed

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/semel-go/semel/middleware/webhook"
)

// DefaultTolerance is how far a timestamp may be from now, either way. Stripe,
// Slack and Standard Webhooks recommend it.
const DefaultTolerance = 5 * time.Minute

// maxDigits keeps a number within an int64.
const maxDigits = 18

var errStamp = errors.New("the timestamp is not a number")

// Seconds reads text as seconds since 1970. It takes digits and nothing else,
// so that one time has one text. It refuses what is none as malformed.
func Seconds(text string) (time.Time, error) {
	n, err := number(text)
	return time.Unix(n, 0), err
}

// Milliseconds is Seconds for milliseconds.
func Milliseconds(text string) (time.Time, error) {
	n, err := number(text)
	return time.UnixMilli(n), err
}

func number(text string) (int64, error) {
	if text == "" || len(text) > maxDigits {
		return 0, webhook.Refuse(webhook.Malformed, errStamp)
	}
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return 0, webhook.Refuse(webhook.Malformed, errStamp)
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, webhook.Refuse(webhook.Malformed, errStamp)
	}
	return n, nil
}

// Fresh refuses t as expired if it is further from now than tolerance, on
// either side.
func Fresh(t, now time.Time, tolerance time.Duration) error {
	if t.Before(now.Add(-tolerance)) || t.After(now.Add(tolerance)) {
		return webhook.Refuse(webhook.Expired, fmt.Errorf("signed %s, and it is %s",
			t.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339)))
	}
	return nil
}

// Recent is Fresh for a time of long validity: t may be maxAge old, and ahead by
// no more than clocks differ.
func Recent(t, now time.Time, maxAge time.Duration) error {
	if t.After(now) {
		return Fresh(t, now, min(maxAge, DefaultTolerance))
	}
	return Fresh(t, now, maxAge)
}
