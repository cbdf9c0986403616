package commandhash

import "reflect"

// pointerNode writes pointers as what they point to, so that a field may become
// optional and keep its hashes. Nothing but nil is written with its tag.
type pointerNode struct {
	elem node
	// toPointer marks pointers to pointers: without a tag of their own nil would
	// be the same as a pointer to nil.
	toPointer bool
}

func (*pointerNode) zero() string { return string(rune(tagNil)) }

func (n *pointerNode) encode(e *encoder, v reflect.Value) *valueError {
	if v.IsNil() {
		e.buf = append(e.buf, tagNil)
		return nil
	}
	if !n.toPointer {
		return n.elem.encode(e, v.Elem())
	}
	if err := e.enter(); err != nil {
		return err
	}
	e.buf = append(e.buf, tagPtr)
	if err := n.elem.encode(e, v.Elem()); err != nil {
		return err
	}
	e.leave()
	return nil
}
