package commandhash

import (
	"encoding/binary"
	"math"
	"reflect"
	"time"
)

type (
	boolNode   struct{}
	intNode    struct{}
	uintNode   struct{}
	floatNode  struct{}
	stringNode struct{}
	timeNode   struct{}
)

func (boolNode) zero() string   { return string(rune(tagFalse)) }
func (intNode) zero() string    { return string(rune(tagInt)) + "\x00" }
func (uintNode) zero() string   { return string(rune(tagUint)) + "\x00" }
func (floatNode) zero() string  { return string(rune(tagFloat)) + "\x00\x00\x00\x00\x00\x00\x00\x00" }
func (stringNode) zero() string { return string(rune(tagString)) + "\x00" }
func (timeNode) zero() string   { return string(appendTime(nil, time.Time{})) }

func (boolNode) encode(e *encoder, v reflect.Value) *valueError {
	tag := byte(tagFalse)
	if v.Bool() {
		tag = tagTrue
	}
	e.buf = append(e.buf, tag)
	return nil
}

func (intNode) encode(e *encoder, v reflect.Value) *valueError {
	// AppendVarint is zig-zag.
	e.buf = binary.AppendVarint(append(e.buf, tagInt), v.Int())
	return nil
}

func (uintNode) encode(e *encoder, v reflect.Value) *valueError {
	e.buf = binary.AppendUvarint(append(e.buf, tagUint), v.Uint())
	return nil
}

// A float32 is written as the float64 of the same value, which is exact.
func (floatNode) encode(e *encoder, v reflect.Value) *valueError {
	f := v.Float()
	switch {
	case math.IsNaN(f):
		// No two NaN are equal, so a command with one is equal to none, not
		// even to itself sent again.
		return &valueError{reason: "is NaN"}
	case f == 0:
		f = 0 // without its sign
	}
	e.buf = binary.BigEndian.AppendUint64(append(e.buf, tagFloat), math.Float64bits(f))
	return nil
}

func (stringNode) encode(e *encoder, v reflect.Value) *valueError {
	e.buf = append(e.buf, tagString)
	return e.text(v.String())
}

func (timeNode) encode(e *encoder, v reflect.Value) *valueError {
	t, _ := v.Addr().Interface().(*time.Time) // it is one: the compiler has seen to it
	e.buf = appendTime(e.buf, *t)
	return nil
}

// appendTime appends an instant: no zone, and no monotonic clock.
func appendTime(b []byte, t time.Time) []byte {
	b = binary.AppendVarint(append(b, tagTime), t.Unix())
	return binary.AppendUvarint(b, uint64(t.Nanosecond()))
}
