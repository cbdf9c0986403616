package adyenhook

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/internal/jsonfield"
	"github.com/semel-go/semel/middleware/webhook/internal/signed"
)

// headerName is HmacSignature in its canonical form.
const headerName = "Hmacsignature"

// What is wrong with a delivery of either form.
var (
	errSignature = errors.New("what should be the signature is none")
	errObject    = errors.New("the body is no object")
)

// whole verifies a delivery whose body is signed in a header.
func (v *Verifier) whole(ctx context.Context, header http.Header, body []byte) (webhook.Delivery, error) {
	text, err := signed.Header(header, headerName)
	if err != nil {
		return webhook.Delivery{}, err
	}
	signature, ok := signed.Base64(base64.StdEncoding, text, sha256.Size)
	if !ok {
		return webhook.Delivery{}, webhook.Refuse(webhook.Malformed, errSignature)
	}
	// The fields of a standard item, joined as they are signed, would be a body
	// to whoever uses one key for both forms. They do not begin so.
	if !bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")) {
		return webhook.Delivery{}, webhook.Refuse(webhook.Malformed, errObject)
	}
	k, tenant, err := v.keys(ctx, header, body)
	if err != nil {
		return webhook.Delivery{}, err
	}
	if !k.signed(body, signature) {
		return webhook.Delivery{}, webhook.Refuse(webhook.NoMatch, nil)
	}
	e, err := v.bodyEvent(body)
	if err != nil {
		return webhook.Delivery{}, err
	}
	e.Tenant = tenant
	return webhook.Delivery{Events: []webhook.Event{e}}, nil
}

// bodyEvent makes an event of a body whose signature holds.
func (v *Verifier) bodyEvent(body []byte) (webhook.Event, error) {
	const kind, queued, created, resource, ids = 0, 1, 2, 3, 4
	f := []jsonfield.Field{
		kind:     {Path: "type"},
		queued:   {Path: "timestamp"},
		created:  {Path: "createdAt"},
		resource: {Path: "data.id"},
	}
	for _, path := range v.o.IDFields {
		f = append(f, jsonfield.Field{Path: path})
	}
	err := jsonfield.Read(body, f)
	if err != nil && (len(v.o.IDFields) > 0 || errors.Is(err, jsonfield.ErrTwice)) {
		return webhook.Event{}, webhook.Refuse(webhook.Malformed, err)
	} // a body that is not JSON, as Adyen's own example is not, is known by its digest
	e := webhook.Event{
		Provider: Provider,
		IDSigned: true,
		Type:     f[kind].Value.String(),
		Resource: f[resource].Value.ID(),
		Time:     f[queued].Value.Time(),
		Body:     body,
	}
	if e.Time.IsZero() {
		e.Time = f[created].Value.Time()
	}
	e.ID, err = v.idOf(body, f[ids:])
	return e, err
}

// idOf returns an event's id: its fields, each after its length so that no two
// lists look alike, or one alone as it is, or the digest of its body.
func (v *Verifier) idOf(body []byte, fields []jsonfield.Field) (string, error) {
	if len(fields) == 0 {
		sum := sha256.Sum256(body)
		return hex.EncodeToString(sum[:]), nil
	}
	var parts []string
	for _, f := range fields {
		id := f.Value.ID()
		if id == "" {
			return "", fmt.Errorf("%w: the body has no %s", webhook.ErrNoEvent, f.Path)
		}
		if len(fields) > 1 {
			id = fmt.Sprintf("%d:%s", len(id), id)
		}
		parts = append(parts, id)
	}
	return strings.Join(parts, ":"), nil
}
