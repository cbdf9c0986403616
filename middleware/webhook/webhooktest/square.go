package webhooktest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
)

// SquareSigner signs as Square does.
type SquareSigner struct {
	url, key string
}

// Square returns a signer for the subscription with this notification URL and
// signature key. Both are signed with as they are: the URL of the request does
// not matter.
func Square(notificationURL, key string) SquareSigner {
	return SquareSigner{url: notificationURL, key: key}
}

// Sign signs body and makes it the body of req.
func (s SquareSigner) Sign(req *http.Request, body []byte) {
	setBody(req, body)
	mac := hmac.New(sha256.New, []byte(s.key))
	mac.Write([]byte(s.url))
	mac.Write(body)
	req.Header.Set("x-square-hmacsha256-signature", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}
