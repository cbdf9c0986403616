package webhooktest

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/url"
)

// GitHubSigner signs as GitHub does.
type GitHubSigner struct {
	secret, id, hook, event string
	form                    bool
}

// GitHub returns a signer for the hook with this secret.
func GitHub(secret string) GitHubSigner { return GitHubSigner{secret: secret} }

// ID returns the signer whose deliveries have this id.
// Default: one made of the body.
func (s GitHubSigner) ID(id string) GitHubSigner {
	s.id = id
	return s
}

// Hook returns the signer for the hook with this number.
// Default: "1".
func (s GitHubSigner) Hook(number string) GitHubSigner {
	s.hook = number
	return s
}

// Event returns the signer whose deliveries are events of this name.
// Default: "push".
func (s GitHubSigner) Event(name string) GitHubSigner {
	s.event = name
	return s
}

// Form returns the signer for a hook whose content type is the form's.
func (s GitHubSigner) Form() GitHubSigner {
	s.form = true
	return s
}

// Sign signs body, which is JSON, and makes it the body of req.
func (s GitHubSigner) Sign(req *http.Request, body []byte) {
	id := cmp.Or(s.id, uuid(body))
	body = bytes.Clone(body)
	kind := "application/json"
	if s.form {
		body, kind = []byte("payload="+url.QueryEscape(string(body))), "application/x-www-form-urlencoded"
	}
	setBody(req, body)
	req.Header.Set("Content-Type", kind)
	req.Header.Set("X-GitHub-Delivery", id)
	req.Header.Set("X-GitHub-Event", cmp.Or(s.event, "push"))
	req.Header.Set("X-GitHub-Hook-ID", cmp.Or(s.hook, "1"))
	mac := hmac.New(sha256.New, []byte(s.secret))
	mac.Write(body)
	req.Header.Set("X-Hub-Signature-256", fmt.Sprintf("sha256=%x", mac.Sum(nil)))
}

// uuid makes an id of a body, so that what is signed twice is one event.
func uuid(body []byte) string {
	sum := sha256.Sum256(body)
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
