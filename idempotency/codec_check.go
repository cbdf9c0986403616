package idempotency

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// checkJSON returns why a T cannot be told in JSON and back without loss, as far
// as its type shows it: the first reason, and where it lies.
func checkJSON(t reflect.Type) error {
	c := jsonCheck{seen: map[jsonPlace]bool{}}
	// The codec encodes by the value's address.
	return c.check(t, true, "")
}

// jsonCheck walks a type as encoding/json does.
type jsonCheck struct {
	seen map[jsonPlace]bool // so that types that hold themselves come to an end
}

// jsonPlace is a type, and whether values of it have an address where they
// are: only then are methods of the pointer called to encode them.
type jsonPlace struct {
	t         reflect.Type
	addressed bool
}

func (c *jsonCheck) check(t reflect.Type, addressed bool, path string) error {
	if c.seen[jsonPlace{t, addressed}] {
		return nil
	}
	c.seen[jsonPlace{t, addressed}] = true

	// Before its methods: an interface that asks for MarshalJSON still does
	// not say what to decode into.
	if t.Kind() == reflect.Interface {
		return refuse(path, t, "is an interface: which type to decode into is not encoded")
	}
	if t.Kind() != reflect.Pointer && encodesItself(t, addressed) {
		if !decodesItself(t) {
			return refuse(path, t, "encodes itself, but does not decode itself")
		}
		if encodedByOne(t, addressed) {
			return refuse(path, t, "embeds a type that encodes itself, and the other fields would be lost")
		}
		return nil
	}
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		return refuse(path, t, "cannot be encoded")
	case reflect.Pointer:
		return c.check(t.Elem(), true, path)
	case reflect.Slice:
		return c.check(t.Elem(), true, path+"[]")
	case reflect.Array:
		return c.check(t.Elem(), addressed, path+"[]")
	case reflect.Map:
		if !keyable(t.Key()) {
			return refuse(path, t, "has keys that cannot be encoded and decoded")
		}
		return c.check(t.Elem(), false, path+"[]")
	case reflect.Struct:
		return c.fields(t, addressed, path, fieldSet{map[string]bool{}, map[reflect.Type]bool{}})
	default: // booleans, numbers and strings
		return nil
	}
}

// fieldSet is what a struct has in its encoding, the fields of the structs that
// it embeds included: they are encoded beside its own.
type fieldSet struct {
	names    map[string]bool
	embedded map[reflect.Type]bool
}

// fields checks the fields of the struct t, which go into set.
func (c *jsonCheck) fields(t reflect.Type, addressed bool, path string, set fieldSet) error {
	for f := range t.Fields() {
		tag := f.Tag.Get("json")
		if tag == "-" {
			continue
		}
		name, _, _ := strings.Cut(tag, ",")
		at := strings.TrimPrefix(path+"."+f.Name, ".")
		if elem, pointer := pointee(f.Type); f.Anonymous && name == "" && elem.Kind() == reflect.Struct {
			if pointer && !f.IsExported() {
				return refuse(at, f.Type, "is an embedded pointer that is not exported: it cannot be set")
			}
			if set.embedded[elem] { // by way of two others, or in itself
				return refuse(at, f.Type, "is embedded twice")
			}
			set.embedded[elem] = true
			if err := c.fields(elem, addressed || pointer, at, set); err != nil {
				return err
			}
			continue
		}
		if !f.IsExported() {
			return refuse(at, f.Type, "is not exported, and its value would be lost")
		}
		if name == "" {
			name = f.Name
		}
		if set.names[name] {
			return refuse(at, f.Type, fmt.Sprintf("is the second field called %q", name))
		}
		set.names[name] = true
		if err := c.check(f.Type, addressed, at); err != nil {
			return err
		}
	}
	return nil
}

// encodedByOne reports whether t has further fields beside an embedded one that
// encodes itself: unless t has methods of its own, which cannot be told from
// here, those of the embedded one encode it in place of the whole.
func encodedByOne(t reflect.Type, addressed bool) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	embeds, others := false, 0
	for f := range t.Fields() {
		if f.Anonymous && encodesItself(f.Type, addressed) {
			embeds = true
		} else if f.Tag.Get("json") != "-" {
			others++
		}
	}
	return embeds && others > 0
}

// pointee returns what t points to, or t.
func pointee(t reflect.Type) (elem reflect.Type, pointer bool) {
	if t.Kind() == reflect.Pointer {
		return t.Elem(), true
	}
	return t, false
}

// encodesItself reports whether encoding/json calls a method of t to encode it.
func encodesItself(t reflect.Type, addressed bool) bool {
	has := func(t reflect.Type) bool {
		return t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
	}
	return has(t) || addressed && has(reflect.PointerTo(t))
}

// decodesItself reports whether encoding/json calls a method of *t to decode it.
func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// keyable reports whether a map's key t can be encoded, and decoded again.
func keyable(t reflect.Type) bool {
	encodes := t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
	decodes := reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
	switch t.Kind() {
	case reflect.String: // encoded as it is, whatever its methods
		return encodes || !decodes
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return encodes == decodes
	default:
		return encodes && decodes
	}
}

// refuse says that what lies at path, a t, is the reason.
func refuse(path string, t reflect.Type, reason string) error {
	if path == "" {
		return errors.New("it " + reason)
	}
	return fmt.Errorf("%s (%v) %s", path, t, reason)
}
