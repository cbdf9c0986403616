package githubhook

import (
	"bytes"
	"errors"
	"net/url"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/internal/jsonfield"
)

// formPrefix is what a form begins with. No JSON does.
const formPrefix = "payload="

// errForm is what is wrong with a form that GitHub does not send.
var errForm = errors.New("the form does not hold one payload")

// readBody fills in what a body whose signature holds says of e. A body that is
// not JSON is as good as any: the key does not need it.
func readBody(e *webhook.Event, body []byte) error {
	e.Body = body
	if form, ok := bytes.CutPrefix(body, []byte(formPrefix)); ok {
		// A second field could be a second payload, and two readers would each
		// choose another.
		payload, err := url.QueryUnescape(string(form))
		if err != nil || bytes.ContainsAny(form, "&;") {
			return webhook.Refuse(webhook.Malformed, errForm)
		}
		e.Body, e.ContentType = []byte(payload), "application/json"
	}
	f := [...]jsonfield.Field{{Path: "repository.id"}}
	if err := jsonfield.Read(e.Body, f[:]); errors.Is(err, jsonfield.ErrTwice) {
		return webhook.Refuse(webhook.Malformed, err)
	}
	e.Resource = f[0].Value.ID()
	return nil
}
