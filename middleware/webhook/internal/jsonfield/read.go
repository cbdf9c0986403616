// Package jsonfield reads a few fields of a JSON document and leaves the rest
// alone. It does not decode into structs, as encoding/json does: that takes
// names in either case and the last of two, so that two readers of one document
// may see two ids.
package jsonfield

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// What is wrong with a document.
var (
	// ErrSyntax: it is not JSON.
	ErrSyntax = errors.New("the body is not JSON")
	// ErrTwice: a name on the way to a field is there twice.
	ErrTwice = errors.New("a name is there twice in the body")
)

// Field is a value to be read.
type Field struct {
	// Path is the names from the document's object down to the value, with dots
	// between them.
	Path string
	// Value is what Read found; nil if there is nothing, or null.
	Value Value
}

// step returns the name at depth of f's path, whether it is the last, and
// whether there is one.
func (f *Field) step(depth int) (name string, last, ok bool) {
	name, rest, more := strings.Cut(f.Path, ".")
	for ; depth > 0; depth-- {
		if !more {
			return "", false, false
		}
		name, rest, more = strings.Cut(rest, ".")
	}
	return name, !more, true
}

// Read fills in the values of fields, at most 63, which share body's memory.
// The whole of body must be one JSON value. Only objects have fields; where
// there is another value on the way there is none.
//
// Errors: ErrSyntax; ErrTwice, wrapped, for a name on the way to a field: what
// it means would depend on the reader.
func Read(body []byte, fields []Field) error {
	if !json.Valid(body) {
		return ErrSyntax
	}
	r := reader{body: body, fields: fields}
	r.space()
	if r.body[r.at] != '{' {
		return nil
	}
	return r.object(0, 1<<len(r.fields)-1)
}

// reader goes through a valid document, once.
type reader struct {
	body   []byte
	at     int
	fields []Field
}

// object reads the object that begins at r.at, which is depth names deep on the
// paths of the wanted fields: a bit for each.
func (r *reader) object(depth int, wanted uint64) error {
	var seen uint64
	r.at++ // {
	for {
		r.space()
		if r.body[r.at] == '}' {
			r.at++
			return nil
		}
		name := r.str()
		r.space()
		r.at++ // :
		r.space()
		here := r.named(name, depth, wanted)
		if here&seen != 0 {
			return fmt.Errorf("%w: %.64s", ErrTwice, name)
		}
		seen |= here
		if err := r.value(depth, here); err != nil {
			return err
		}
		r.space()
		if r.body[r.at] == ',' {
			r.at++
		}
	}
}

// named returns those of the wanted fields whose path has name at depth.
func (r *reader) named(name Value, depth int, wanted uint64) uint64 {
	var here uint64
	for i := range r.fields {
		if wanted&(1<<i) == 0 {
			continue
		}
		if want, _, ok := r.fields[i].step(depth); ok && name.Is(want) {
			here |= 1 << i
		}
	}
	return here
}

// value reads the value at r.at, to which the paths of the fields here lead.
func (r *reader) value(depth int, here uint64) error {
	if here == 0 {
		r.skip()
		return nil
	}
	start := r.at
	if r.body[start] == '{' {
		if err := r.object(depth+1, here); err != nil {
			return err
		}
	} else {
		r.skip()
	}
	v := Value(r.body[start:r.at])
	for i := range r.fields {
		if here&(1<<i) == 0 {
			continue
		}
		if _, last, _ := r.fields[i].step(depth); last && string(v) != "null" {
			r.fields[i].Value = v
		}
	}
	return nil
}

// skip passes the value at r.at.
func (r *reader) skip() {
	for depth := 0; ; {
		switch c := r.body[r.at]; c {
		case '"':
			r.str()
		case '{', '[':
			depth++
			r.at++
		case '}', ']':
			depth--
			r.at++
		default:
			r.at++
			if depth > 0 {
				continue // of what is inside, only brackets and strings matter
			}
			for r.at < len(r.body) && !ends(r.body[r.at]) {
				r.at++
			}
		}
		if depth == 0 {
			return
		}
	}
}

// ends reports whether c cannot be a part of a number or of a word.
func ends(c byte) bool {
	switch c {
	case ',', '}', ']', ' ', '\t', '\r', '\n':
		return true
	}
	return false
}

// str passes the string at r.at and returns it, with its quotes.
func (r *reader) str() Value {
	start := r.at
	for r.at++; r.body[r.at] != '"'; r.at++ {
		if r.body[r.at] == '\\' {
			r.at++
		}
	}
	r.at++
	return Value(r.body[start:r.at])
}

// space passes white space.
func (r *reader) space() {
	for {
		switch r.body[r.at] {
		case ' ', '\t', '\r', '\n':
			r.at++
		default:
			return
		}
	}
}
