package webhooktest

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// SlackSigner signs as Slack does.
type SlackSigner struct {
	secret string
	at     time.Time
	retry  int
}

// Slack returns a signer for the app with this signing secret.
func Slack(secret string) SlackSigner { return SlackSigner{secret: secret} }

// At returns the signer whose signatures are made at t.
// Default: when Sign is called.
func (s SlackSigner) At(t time.Time) SlackSigner {
	s.at = t
	return s
}

// Retry returns the signer whose deliveries say that they are the nth retry,
// after a timeout. It is not signed.
// Default: 0, none.
func (s SlackSigner) Retry(n int) SlackSigner {
	s.retry = n
	return s
}

// Sign signs body, which is JSON, or the form of a command or an interaction,
// and makes it the body of req.
func (s SlackSigner) Sign(req *http.Request, body []byte) {
	setBody(req, body)
	if !bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	at := strconv.FormatInt(or(s.at).Unix(), 10)
	mac := hmac.New(sha256.New, []byte(s.secret))
	mac.Write(fmt.Appendf(nil, "v0:%s:%s", at, body))
	req.Header.Set("X-Slack-Request-Timestamp", at)
	req.Header.Set("X-Slack-Signature", fmt.Sprintf("v0=%x", mac.Sum(nil)))
	if s.retry > 0 {
		req.Header.Set("X-Slack-Retry-Num", strconv.Itoa(s.retry))
		req.Header.Set("X-Slack-Retry-Reason", "http_timeout")
	}
}
