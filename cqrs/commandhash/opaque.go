package commandhash

import (
	"encoding"
	"encoding/binary"
	"reflect"
)

// Appender is a type that says itself what it is in a hash: of two values that
// append the same bytes one may stand for the other, and the bytes of one value
// are the same in every process, for as long as hashes are kept. The method may
// have a value or a pointer receiver. It appends to dst and returns the extended
// slice, which it must not keep. Of a struct's field that holds its Go zero value
// it is not asked: the field is left out.
type Appender interface {
	AppendIdempotency(dst []byte) ([]byte, error)
}

var (
	appenderType = reflect.TypeFor[Appender]()
	textType     = reflect.TypeFor[encoding.TextMarshaler]()
)

// ownNode writes Appenders.
type ownNode struct{ typ reflect.Type }

// textNode writes values by their MarshalText.
type textNode struct{ typ reflect.Type }

func (n ownNode) zero() string  { return zeroOf(n.typ, tagOwn, own) }
func (n textNode) zero() string { return zeroOf(n.typ, tagText, text) }

func (ownNode) encode(e *encoder, v reflect.Value) *valueError {
	b, err := own(v, e.own[:0])
	if err != nil {
		return &valueError{reason: "AppendIdempotency failed", cause: err}
	}
	// A copy, even if b lies in our own slice already: it may be the user's, and
	// ours is written over and wiped.
	e.own = append(e.own[:0], b...)
	e.buf = append(e.buf, tagOwn)
	return e.bytes(e.own)
}

func (textNode) encode(e *encoder, v reflect.Value) *valueError {
	b, err := text(v, nil)
	if err != nil {
		return &valueError{reason: "MarshalText failed", cause: err}
	}
	e.buf = append(e.buf, tagText)
	return e.bytes(b)
}

// own and text ask the value through its address: a pointer has the methods of
// both receivers, and needs no allocation to be made an interface. The checks
// cannot fail, since the compiler has made them.

func own(v reflect.Value, dst []byte) ([]byte, error) {
	a, _ := v.Addr().Interface().(Appender)
	return a.AppendIdempotency(dst)
}

func text(v reflect.Value, _ []byte) ([]byte, error) {
	m, _ := v.Addr().Interface().(encoding.TextMarshaler)
	return m.MarshalText()
}

// zeroOf asks a type's zero value. One that nobody has filled may well have
// nothing to say, even panic: then only it itself counts as zero.
func zeroOf(t reflect.Type, tag byte, ask func(reflect.Value, []byte) ([]byte, error)) (zero string) {
	defer func() {
		if recover() != nil {
			zero = ""
		}
	}()
	b, err := ask(reflect.New(t).Elem(), nil)
	if err != nil {
		return ""
	}
	return string(binary.AppendUvarint([]byte{tag}, uint64(len(b)))) + string(b)
}

// has reports whether values of type t have the method of the interface, for
// values that have an address.
func has(t, method reflect.Type) bool { return reflect.PointerTo(t).Implements(method) }

// promoted returns the embedded field that has the method of the interface too,
// so that t's own may be nothing but that field's, and deaf to all others.
func promoted(t, method reflect.Type) (string, bool) {
	if t.Kind() != reflect.Struct {
		return "", false
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous && (f.Type.Implements(method) || has(f.Type, method)) {
			return f.Name, true
		}
	}
	return "", false
}
