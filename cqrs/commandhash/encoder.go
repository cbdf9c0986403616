package commandhash

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
)

// The tags, the first byte of every value. They are part of the frozen form.
const (
	tagFalse  = 'f'
	tagTrue   = 't'
	tagInt    = 'i' // zig-zag, uvarint
	tagUint   = 'u' // uvarint
	tagFloat  = 'd' // binary64, big endian
	tagString = 's' // length, bytes
	tagBytes  = 'x' // length, bytes
	tagTime   = 'z' // zig-zag seconds, uvarint nanoseconds
	tagText   = 'q' // length, what MarshalText returned
	tagOwn    = 'a' // length, what AppendIdempotency appended
	tagNil    = 'n'
	tagPtr    = 'p' // value: a pointer to a pointer
	tagList   = 'l' // count, values
	tagSet    = 'e' // count, sorted values
	tagMap    = 'm' // count, keys and values, sorted
	tagStruct = '{' // length, name, value ... ended by a length of 0
	endStruct = 0
)

// maxKept is how large a buffer may be that is kept for the next command.
const maxKept = 64 << 10

// node writes the values of one type.
type node interface {
	// encode appends v, which is addressable, to e.
	encode(e *encoder, v reflect.Value) *valueError
	// zero returns how the type's zero value is written, or "" if it cannot be.
	zero() string
}

// encoder holds the encoding of one command while it is made.
type encoder struct {
	buf               []byte
	own               []byte // what an Appender works on
	copied            []byte // what arrange works on
	parts             []part // of the sets and maps that are being written, a stack
	depth             int
	maxDepth, maxSize int
}

// part is where in the buffer an element or entry is.
type part struct{ start, end int }

// reset makes e ready for another command. What was in it is wiped: a pool keeps
// it for an unknown time.
func (e *encoder) reset() {
	// Of these two what was longer before is left behind their length.
	e.own, e.copied = e.own[:cap(e.own)], e.copied[:cap(e.copied)]
	e.buf, e.own, e.copied = wipe(e.buf), wipe(e.own), wipe(e.copied)
	if cap(e.parts) > maxKept/16 {
		e.parts = nil
	}
	e.parts, e.depth = e.parts[:0], 0
}

// wipe returns b empty, or nil if it is too large to be kept.
func wipe(b []byte) []byte {
	if cap(b) > maxKept {
		return nil
	}
	clear(b)
	return b[:0]
}

// count appends a number of elements or bytes.
func (e *encoder) count(n int) { e.buf = binary.AppendUvarint(e.buf, uint64(n)) }

// text appends a string after its length.
func (e *encoder) text(s string) *valueError {
	if len(s) > e.maxSize-len(e.buf) {
		return e.tooLarge()
	}
	e.count(len(s))
	e.buf = append(e.buf, s...)
	return nil
}

// bytes appends b after its length.
func (e *encoder) bytes(b []byte) *valueError {
	if len(b) > e.maxSize-len(e.buf) {
		return e.tooLarge()
	}
	e.count(len(b))
	e.buf = append(e.buf, b...)
	return nil
}

// full reports whether the buffer has become too large. Who writes many values
// asks after each.
func (e *encoder) full() *valueError {
	if len(e.buf) > e.maxSize {
		return e.tooLarge()
	}
	return nil
}

func (e *encoder) tooLarge() *valueError {
	return &valueError{reason: fmt.Sprintf("the command is written in more than %d bytes", e.maxSize)}
}

// enter goes one level down; leave comes back.
func (e *encoder) enter() *valueError {
	e.depth++
	if e.depth > e.maxDepth {
		return &valueError{reason: fmt.Sprintf("nested more than %d deep, or cyclic", e.maxDepth)}
	}
	return nil
}

func (e *encoder) leave() { e.depth-- }

// arrange sorts the parts from the given one on, which follow each other up to
// the end of the buffer, by their bytes. Encodings are prefix-free, so entries of
// a map are in the order of their keys.
func (e *encoder) arrange(from int) {
	parts := e.parts[from:] // none need no order
	compare := func(a, b part) int { return bytes.Compare(e.buf[a.start:a.end], e.buf[b.start:b.end]) }
	if !slices.IsSortedFunc(parts, compare) {
		start := parts[0].start
		slices.SortFunc(parts, compare)
		e.copied = append(e.copied[:0], e.buf[start:]...)
		e.buf = e.buf[:start]
		for _, p := range parts {
			e.buf = append(e.buf, e.copied[p.start-start:p.end-start]...)
		}
	}
	e.parts = e.parts[:from]
}
