package commandhash

import (
	"reflect"
	"sync"
)

// mapNode writes maps.
type mapNode struct {
	typ       reflect.Type
	key, elem node
	walks     sync.Pool // of *walk
}

// walk is what it takes to look at the entries of a map of one type without an
// allocation for each.
type walk struct {
	iter      reflect.MapIter
	key, elem reflect.Value
}

func (*mapNode) zero() string { return string(rune(tagMap)) + "\x00" }

func (n *mapNode) encode(e *encoder, v reflect.Value) *valueError {
	e.buf = append(e.buf, tagMap)
	e.count(v.Len())
	if v.Len() == 0 {
		return nil
	}
	if err := e.enter(); err != nil {
		return err
	}
	if err := n.entries(e, v); err != nil {
		return err
	}
	e.leave()
	return nil
}

// entries writes the entries of v in order. Errors do not say which entry is at
// fault: its key may be a secret of the user's.
func (n *mapNode) entries(e *encoder, v reflect.Value) *valueError {
	w := n.take()
	w.iter.Reset(v)
	first := len(e.parts)
	var err *valueError
	for err == nil && w.iter.Next() {
		start := len(e.buf)
		w.key.SetIterKey(&w.iter)
		if err = n.key.encode(e, w.key).at("[key]"); err != nil {
			break
		}
		w.elem.SetIterValue(&w.iter)
		if err = n.elem.encode(e, w.elem).at("[value]"); err != nil {
			break
		}
		e.parts = append(e.parts, part{start, len(e.buf)})
		err = e.full()
	}
	if err == nil {
		e.arrange(first)
	}
	n.put(w)
	return err
}

// take returns a walk that nobody else has; maps of one type may be nested.
func (n *mapNode) take() *walk {
	if w, ok := n.walks.Get().(*walk); ok {
		return w
	}
	return &walk{
		key:  reflect.New(n.typ.Key()).Elem(),
		elem: reflect.New(n.typ.Elem()).Elem(),
	}
}

// put gives a walk back, without anything of the map.
func (n *mapNode) put(w *walk) {
	w.iter.Reset(reflect.Value{})
	w.key.SetZero()
	w.elem.SetZero()
	n.walks.Put(w)
}

// textMapNode writes map[string]string as mapNode does. It is the map that most
// commands have, and without reflection it takes half the time.
type textMapNode struct{}

var textMapType = reflect.TypeFor[map[string]string]()

func (textMapNode) zero() string { return (*mapNode)(nil).zero() }

func (textMapNode) encode(e *encoder, v reflect.Value) *valueError {
	m, _ := v.Addr().Interface().(*map[string]string) // it is one: the compiler has seen to it
	e.buf = append(e.buf, tagMap)
	e.count(len(*m))
	if len(*m) == 0 {
		return nil
	}
	if err := e.enter(); err != nil {
		return err
	}
	first := len(e.parts)
	for key, elem := range *m {
		start := len(e.buf)
		e.buf = append(e.buf, tagString)
		if err := e.text(key); err != nil {
			return err.at("[key]")
		}
		e.buf = append(e.buf, tagString)
		if err := e.text(elem); err != nil {
			return err.at("[value]")
		}
		e.parts = append(e.parts, part{start, len(e.buf)})
	}
	e.arrange(first)
	e.leave()
	return e.full()
}
