package commandhash

import (
	"encoding/binary"
	"reflect"
	"strconv"
	"strings"
)

// bytesNode writes slices and arrays of bytes.
type bytesNode struct {
	length int // an array's, 0 for a slice
}

func (n bytesNode) zero() string {
	return string(binary.AppendUvarint([]byte{tagBytes}, uint64(n.length))) + strings.Repeat("\x00", n.length)
}

func (bytesNode) encode(e *encoder, v reflect.Value) *valueError {
	e.buf = append(e.buf, tagBytes)
	return e.bytes(v.Bytes())
}

// listNode writes other slices and arrays.
type listNode struct {
	length int // an array's, 0 for a slice
	elem   node
	set    bool
}

func (n *listNode) tag() byte {
	if n.set {
		return tagSet
	}
	return tagList
}

func (n *listNode) zero() string {
	elem := ""
	if n.length > 0 {
		if elem = n.elem.zero(); elem == "" {
			return ""
		}
	}
	return string(binary.AppendUvarint([]byte{n.tag()}, uint64(n.length))) + strings.Repeat(elem, n.length)
}

func (n *listNode) encode(e *encoder, v reflect.Value) *valueError {
	length, first := v.Len(), len(e.parts)
	e.buf = append(e.buf, n.tag())
	e.count(length)
	if length == 0 {
		return nil // no level of its own: an empty field is left out
	}
	if err := e.enter(); err != nil {
		return err
	}
	for i := range length {
		start := len(e.buf)
		err := n.elem.encode(e, v.Index(i))
		if err == nil {
			err = e.full()
		}
		if err != nil {
			return err.at("[" + strconv.Itoa(i) + "]")
		}
		if n.set {
			e.parts = append(e.parts, part{start, len(e.buf)})
		}
	}
	if n.set {
		e.arrange(first)
	}
	e.leave()
	return nil
}
