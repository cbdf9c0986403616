package hmachook

import (
	"cmp"
	"context"
	"crypto"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"net/http"
	"strings"
	"time"

	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/middleware/webhook/internal/jsonfield"
	"github.com/semel-go/semel/middleware/webhook/internal/signed"
)

// Verifier verifies deliveries as Options say. It is safe for concurrent use.
type Verifier struct {
	name    string
	secrets webhook.SecretSource
	content content
	hash    func() hash.Hash
	size    int
	o       Options
	fields  []jsonfield.Field // those of the body that count
}

var (
	_ webhook.Verifier = (*Verifier)(nil)
	_ webhook.Adviser  = (*Verifier)(nil)
)

// New returns a Verifier for the provider called name, in lower case. The name
// is part of every key: do not change it later.
//
// Errors: webhook.ErrSecrets, wrapped, and one for each field that is wrong,
// with its name.
func New(name string, secrets webhook.SecretSource, o Options) (*Verifier, error) {
	var errs []error
	if !signed.Name(name) {
		errs = append(errs, fmt.Errorf("the name %q must have lower-case letters, digits and dashes only", name))
	}
	if err := signed.Secrets(secrets); err != nil {
		errs = append(errs, err)
	}
	c, err := parseContent(cmp.Or(o.Content, bodyPart))
	if err == nil {
		err = o.validateContent(c)
	}
	if err := errors.Join(append(errs, err, o.validate())...); err != nil {
		return nil, fmt.Errorf("hmachook: %w", err)
	}
	o = o.canonical()
	o.Tolerance = cmp.Or(o.Tolerance, signed.DefaultTolerance)
	if o.Now == nil {
		o.Now = time.Now
	}
	v := &Verifier{name: name, secrets: secrets, content: c, hash: newHash(cmp.Or(o.Hash, crypto.SHA256)), o: o}
	v.size = v.hash().Size()
	for _, path := range []string{o.IDField, o.TypeField} {
		if path != "" {
			v.fields = append(v.fields, jsonfield.Field{Path: path})
		}
	}
	return v, nil
}

// newHash returns the constructor of a hash that is fit to sign with, or nil.
func newHash(h crypto.Hash) func() hash.Hash {
	switch h {
	case crypto.SHA256:
		return sha256.New
	case crypto.SHA384:
		return sha512.New384
	case crypto.SHA512:
		return sha512.New
	default:
		return nil
	}
}

// Provider returns the name; [webhook.Verifier].
func (v *Verifier) Provider() string { return v.name }

// Policy returns Options.Policy; [webhook.Adviser].
func (v *Verifier) Policy() webhook.Policy { return v.o.Policy }

// Verify implements [webhook.Verifier]. The delivery holds one event.
//
// Errors: *webhook.RefusedError: MissingHeader; Malformed for a doubled header,
// a signature or timestamp that cannot be one, an id that holds the text beside
// it in Content, and a signed body that has to be read and is not JSON, or has a
// name twice that counts; NoMatch; Expired, only if the signature holds.
// webhook.ErrNoEvent for a signed body without an id; webhook.ErrUnavailable
// from a SecretFunc.
func (v *Verifier) Verify(ctx context.Context, header http.Header, body []byte) (webhook.Delivery, error) {
	d, err := v.read(header)
	if err != nil {
		return webhook.Delivery{}, err
	}
	secrets, tenant, err := v.secrets.SecretsFor(ctx, header, body)
	if err != nil {
		return webhook.Delivery{}, err
	}
	if !v.match(secrets, d, body) {
		return webhook.Delivery{}, webhook.Refuse(webhook.NoMatch, nil)
	}
	if v.o.TimestampHeader != "" {
		if err := signed.Fresh(d.at, v.o.Now(), v.o.Tolerance); err != nil {
			return webhook.Delivery{}, err
		}
	}
	e := webhook.Event{
		Provider: v.name,
		Tenant:   tenant,
		ID:       d.id,
		IDSigned: v.o.IDField != "" || v.content.has(idPart),
		Type:     d.kind,
		Body:     body,
	}
	if err := v.readBody(&e); err != nil {
		return webhook.Delivery{}, err
	}
	return webhook.Delivery{Events: []webhook.Event{e}}, nil
}

// match reports whether one of the secrets made the signature.
func (v *Verifier) match(secrets webhook.Secrets, d delivery, body []byte) bool {
	parts := v.content.of(d.timestamp, d.id, body)
	for _, s := range secrets {
		if signed.Equal(signed.MAC(v.hash, []byte(s), parts...), d.signature) {
			return true
		}
	}
	return false
}

// delivery is what the headers say; what is not asked for is empty.
type delivery struct {
	signature           []byte
	timestamp, id, kind string
	at                  time.Time
}

// read reads the headers.
func (v *Verifier) read(header http.Header) (delivery, error) {
	var d delivery
	text, err := signed.Header(header, v.o.Header)
	if err != nil {
		return delivery{}, err
	}
	if d.signature, err = v.decode(text); err != nil {
		return delivery{}, err
	}
	if v.o.TimestampHeader != "" {
		if d.timestamp, err = signed.Header(header, v.o.TimestampHeader); err != nil {
			return delivery{}, err
		}
		if d.at, err = v.time(d.timestamp); err != nil {
			return delivery{}, err
		}
	}
	if v.o.IDHeader != "" {
		if d.id, err = signed.Header(header, v.o.IDHeader); err != nil {
			return delivery{}, err
		}
		if !v.content.ends(d.id) {
			return delivery{}, webhook.Refuse(webhook.Malformed, errors.New("the id holds the text that ends it"))
		}
	}
	if v.o.TypeHeader != "" {
		d.kind, err = signed.Optional(header, v.o.TypeHeader)
	}
	return d, err
}

// decode returns the signature in the header's value.
func (v *Verifier) decode(text string) ([]byte, error) {
	text, ok := strings.CutPrefix(text, v.o.Prefix)
	var b []byte
	if ok {
		switch v.o.Encoding {
		case Base64:
			b, ok = signed.Base64(base64.StdEncoding, text, v.size)
		case Base64URL:
			b, ok = signed.Base64(base64.URLEncoding, text, v.size)
		default:
			b, ok = signed.Hex(text, v.size)
		}
	}
	if !ok {
		return nil, webhook.Refuse(webhook.Malformed, errors.New("the signature's header does not hold one"))
	}
	return b, nil
}

// time reads the timestamp's header.
func (v *Verifier) time(text string) (time.Time, error) {
	if v.o.TimestampUnit == Milliseconds {
		return signed.Milliseconds(text)
	}
	return signed.Seconds(text)
}

// readBody fills in what the body of e says.
func (v *Verifier) readBody(e *webhook.Event) error {
	if len(v.fields) > 0 {
		fields := append([]jsonfield.Field(nil), v.fields...)
		if err := jsonfield.Read(e.Body, fields); err != nil {
			return webhook.Refuse(webhook.Malformed, err)
		}
		if v.o.TypeField != "" {
			e.Type = fields[len(fields)-1].Value.String()
		}
		if v.o.IDField != "" {
			e.ID = fields[0].Value.ID()
		}
	}
	if e.ID == "" {
		return fmt.Errorf("%w: the body has no %s", webhook.ErrNoEvent, v.o.IDField)
	}
	return nil
}
