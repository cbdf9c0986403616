package hmachook

import (
	"crypto"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"strings"
	"time"

	"github.com/semel-go/semel/middleware/webhook"
)

// Encoding is how a signature is written.
type Encoding int

// The encodings. Hex may be in letters of either case; base64 may be padded or
// not.
const (
	Hex Encoding = iota
	Base64
	Base64URL
)

// Unit is how a timestamp is written.
type Unit int

// The units. A timestamp holds digits and nothing else.
const (
	Seconds Unit = iota
	Milliseconds
)

// Options says how the sender signs, and where its events say what they are.
// Header and one of IDHeader and IDField are required; what else is left out is
// not looked at.
type Options struct {
	// Header is the signature's header. It holds one signature.
	Header string
	// Prefix is what the header has before the signature, as "sha256=".
	// Default: nothing.
	Prefix string
	// Encoding is how the signature is written.
	// Default: Hex.
	Encoding Encoding
	// Hash is crypto.SHA256, SHA384 or SHA512. Others are refused, SHA1 too.
	// Default: crypto.SHA256.
	Hash crypto.Hash

	// Content is the signed text: literal text with {body}, which it must hold,
	// {timestamp} and {id}, each at most once, as "v0:{timestamp}:{body}".
	// {timestamp} and {id} stand for the values of their headers, as sent.
	// Default: "{body}".
	Content string

	// TimestampHeader is the header with the time of signing. It must be part
	// of Content.
	// Default: none, a delivery is believed whatever its age.
	TimestampHeader string
	// TimestampUnit is how it is written.
	// Default: Seconds.
	TimestampUnit Unit
	// Tolerance is how far it may be from now, in the past and in the future.
	// Default: 5 min.
	Tolerance time.Duration

	// IDHeader is the header with the event's id, which must be the same in
	// each attempt. It is signed only if Content holds {id}.
	IDHeader string
	// IDField is where the body, then a JSON object, has the event's id: the
	// names down to it, with dots between, as "event.id". It is a string or an
	// integer, and always signed.
	IDField string
	// TypeHeader is the header with the event's type. It is never signed.
	// Default: none.
	TypeHeader string
	// TypeField is where the body has the event's type, like IDField.
	// Default: none.
	TypeField string

	// Policy is how the sender wants to be answered.
	// Default: that of webhook.Once.
	Policy webhook.Policy

	// Now is the clock.
	// Default: time.Now.
	Now func() time.Time
}

// problems collects what is wrong with fields.
type problems []error

// add adds one if it is there.
func (p *problems) add(is bool, format string, a ...any) {
	if is {
		*p = append(*p, fmt.Errorf("field "+format, a...))
	}
}

// validateContent returns what does not go together with Content.
func (o Options) validateContent(c content) error {
	var p problems
	p.add(o.TimestampHeader != "" && !c.has(timestampPart), "TimestampHeader is not part of Content: it would prove nothing")
	p.add(o.TimestampHeader == "" && c.has(timestampPart), "TimestampHeader is empty, and Content holds {timestamp}")
	p.add(o.IDHeader == "" && c.has(idPart), "IDHeader is empty, and Content holds {id}")
	return errors.Join(p...)
}

// validate returns what else is wrong.
func (o Options) validate() error {
	var p problems
	for _, h := range []struct{ field, name string }{
		{"Header", o.Header}, {"TimestampHeader", o.TimestampHeader},
		{"IDHeader", o.IDHeader}, {"TypeHeader", o.TypeHeader},
	} {
		p.add(h.name != "" && !token(h.name), "%s: %q is no header's name", h.field, h.name)
	}
	p.add(o.Header == "", "Header is empty")
	p.add(o.Encoding < Hex || o.Encoding > Base64URL, "Encoding: %d is none", o.Encoding)
	p.add(o.Hash != 0 && newHash(o.Hash) == nil, "Hash: %v is not SHA-256, SHA-384 or SHA-512", o.Hash)
	p.add(o.TimestampUnit < Seconds || o.TimestampUnit > Milliseconds, "TimestampUnit: %d is none", o.TimestampUnit)
	p.add(o.Tolerance < 0, "Tolerance is negative")
	p.add(o.Tolerance > 0 && o.TimestampHeader == "", "Tolerance needs TimestampHeader")
	p.add(o.IDHeader == "" && o.IDField == "", "IDHeader and IDField are empty: an event needs an id")
	p.add(o.IDHeader != "" && o.IDField != "", "IDHeader and IDField exclude each other")
	p.add(o.TypeHeader != "" && o.TypeField != "", "TypeHeader and TypeField exclude each other")
	for _, f := range []struct{ field, path string }{{"IDField", o.IDField}, {"TypeField", o.TypeField}} {
		p.add(f.path != "" && strings.Contains("."+f.path+".", ".."), "%s: %q has an empty name", f.field, f.path)
	}
	return errors.Join(p...)
}

// canonical returns o with its headers' names as net/http has them.
func (o Options) canonical() Options {
	for _, name := range []*string{&o.Header, &o.TimestampHeader, &o.IDHeader, &o.TypeHeader} {
		*name = http.CanonicalHeaderKey(*name)
	}
	return o
}

// token reports whether name can be a header's (RFC 9110, section 5.1).
func token(name string) bool {
	for _, c := range []byte(name) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return textproto.TrimString(name) != ""
}
