package commandhash

import (
	"encoding/binary"
	"reflect"
)

// recordNode writes structs.
type recordNode struct{ fields []recordField }

// recordField is a field of a struct, ready to be written.
type recordField struct {
	index int
	step  string // in a path
	head  []byte // the name after its length
	node  node
	zero  string // how the zero value is written
	// ask says that Go's zero value is not written at all, but asked for.
	ask bool
	// brief is the tag of a field that is written here and not by its node:
	// most fields are, and it saves half of their time.
	brief byte
}

// zero needs to know no field: each is left out of the zero value.
func (*recordNode) zero() string { return string(rune(tagStruct)) + string(rune(endStruct)) }

func (n *recordNode) encode(e *encoder, v reflect.Value) *valueError {
	if err := e.enter(); err != nil {
		return err
	}
	e.buf = append(e.buf, tagStruct)
	for i := range n.fields {
		f := &n.fields[i]
		at := v.Field(f.index)
		var err *valueError
		switch f.brief {
		case tagString:
			err = f.text(e, at.String())
		case tagInt:
			if i := at.Int(); i != 0 {
				e.buf = binary.AppendVarint(append(append(e.buf, f.head...), tagInt), i)
			}
		case tagUint:
			if u := at.Uint(); u != 0 {
				e.buf = binary.AppendUvarint(append(append(e.buf, f.head...), tagUint), u)
			}
		case tagFloat:
			if at.Float() != 0 { // neither of the two zeros
				e.buf = append(e.buf, f.head...)
				err = floatNode{}.encode(e, at)
			}
		case tagTrue:
			if at.Bool() {
				e.buf = append(append(e.buf, f.head...), tagTrue)
			}
		default:
			err = f.encode(e, at)
		}
		if err != nil {
			return err.at(f.step)
		}
	}
	e.buf = append(e.buf, endStruct)
	e.leave()
	return e.full()
}

// text writes a field that is a string.
func (f *recordField) text(e *encoder, s string) *valueError {
	if s == "" {
		return nil
	}
	e.buf = append(append(e.buf, f.head...), tagString)
	return e.text(s)
}

// encode writes a field of any type.
func (f *recordField) encode(e *encoder, v reflect.Value) *valueError {
	if f.ask && v.IsZero() {
		return nil
	}
	start := len(e.buf)
	e.buf = append(e.buf, f.head...)
	value := len(e.buf)
	if err := f.node.encode(e, v); err != nil {
		return err
	}
	// What is written as the zero value counts as the zero value, a struct all
	// of whose fields were left out among it.
	if string(e.buf[value:]) == f.zero {
		e.buf = e.buf[:start]
	}
	return nil
}

// briefTag returns the tag of a field that its struct writes itself, or 0.
func briefTag(n node) byte {
	switch n.(type) {
	case stringNode:
		return tagString
	case intNode:
		return tagInt
	case uintNode:
		return tagUint
	case floatNode:
		return tagFloat
	case boolNode:
		return tagTrue
	}
	return 0
}

// appendName appends the name of a field after its length.
func appendName(b []byte, name string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(name))), name...)
}
