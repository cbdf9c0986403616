package hmachook

import (
	"errors"
	"fmt"
	"strings"
)

// The kinds of part of a content. The value is the placeholder.
const (
	bodyPart      = "{body}"
	timestampPart = "{timestamp}"
	idPart        = "{id}"
	literalPart   = ""
)

// part is a piece of what is signed.
type part struct {
	kind string
	text []byte // of a literal
}

// content is what is signed, in order.
type content []part

// errContent is a content that leaves the body unsigned.
var errContent = errors.New("field Content: it must hold {body}")

// parseContent reads the template of Options.Content.
func parseContent(template string) (content, error) {
	var c content
	for rest := template; rest != ""; {
		literal, after, found := strings.Cut(rest, "{")
		if strings.Contains(literal, "}") {
			return nil, fmt.Errorf("field Content: } without { in %q", template)
		}
		if literal != "" {
			c = append(c, part{text: []byte(literal)})
		}
		if !found {
			break
		}
		name, next, closed := strings.Cut(after, "}")
		switch kind := "{" + name + "}"; {
		case !closed:
			return nil, fmt.Errorf("field Content: { without } in %q", template)
		case kind != bodyPart && kind != timestampPart && kind != idPart:
			return nil, fmt.Errorf("field Content: %q is none of {body}, {timestamp} and {id}", kind)
		case c.has(kind):
			return nil, fmt.Errorf("field Content: %s is there twice", kind)
		default:
			c = append(c, part{kind: kind})
		}
		rest = next
	}
	if !c.has(bodyPart) {
		return nil, errContent
	}
	return c, c.cuttable()
}

// cuttable returns an error if a part can be cut at its ends in two ways. A
// timestamp cannot, being digits near the present: one digit more or less is
// centuries. But an id beside it can.
func (c content) cuttable() error {
	for i := 1; i < len(c); i++ {
		a, b := c[i-1].kind, c[i].kind
		if a != literalPart && b != literalPart && (a == idPart || b == idPart) {
			return fmt.Errorf("field Content: %s%s needs literal text between, or the one passes for a part of the other", a, b)
		}
	}
	return nil
}

// has reports whether c has a part of a kind.
func (c content) has(kind string) bool {
	for _, p := range c {
		if p.kind == kind {
			return true
		}
	}
	return false
}

// ends reports whether id, with the literals that are beside it, can be cut out
// of the content in this one way only: as what ends at the first of the literal
// behind it and begins after the last of the one before it.
func (c content) ends(id string) bool {
	for i, p := range c {
		if p.kind != idPart {
			continue
		}
		if i > 0 {
			before := string(c[i-1].text)
			return strings.LastIndex(before+id, before) == 0 && (i+1 == len(c) || c.endsBefore(i+1, id))
		}
		return c.endsBefore(i+1, id)
	}
	return true
}

// endsBefore is ends for the literal at i, which is behind id.
func (c content) endsBefore(i int, id string) bool {
	behind := string(c[i].text)
	return strings.Index(id+behind, behind) == len(id)
}

// of returns the parts for one delivery.
func (c content) of(timestamp, id string, body []byte) [][]byte {
	parts := make([][]byte, len(c))
	for i, p := range c {
		switch p.kind {
		case bodyPart:
			parts[i] = body
		case timestampPart:
			parts[i] = []byte(timestamp)
		case idPart:
			parts[i] = []byte(id)
		default:
			parts[i] = p.text
		}
	}
	return parts
}
