package commandhash

import (
	"fmt"
	"iter"
	"reflect"
	"time"
)

var timeType = reflect.TypeFor[time.Time]()

// maxProblems is how much is told of one type.
const maxProblems = 100

// compiler turns a type into the node that writes it.
type compiler struct {
	nodes    map[compiled]node
	problems []problem
	maxSize  int
}

// compiled names a node. Within the key of a map pointers are refused, so that
// the same type may be fine elsewhere.
type compiled struct {
	typ   reflect.Type
	inKey bool
}

// compile returns the node for what a command of type t is when no pointer is
// around it, or all that stands in the way.
func compile(t reflect.Type, maxSize int) (node, []problem) {
	c := &compiler{nodes: map[compiled]node{}, maxSize: maxSize}
	seen := map[reflect.Type]bool{}
	for t.Kind() == reflect.Pointer {
		if seen[t] {
			return nil, []problem{{"", t.String() + ": a pointer that points to its own type holds nothing"}}
		}
		seen[t] = true
		t = t.Elem()
	}
	root := c.node(compiled{typ: t}, "")
	return root, c.problems
}

// refuse notes a problem. The node that it returns is never used.
func (c *compiler) refuse(path string, t reflect.Type, reason string) node {
	c.problems = append(c.problems, problem{path, fmt.Sprintf("%v: %s", t, reason)})
	return boolNode{}
}

// node returns the node for a type.
func (c *compiler) node(k compiled, path string) node {
	if n, ok := c.nodes[k]; ok {
		return n
	}
	before := len(c.problems)
	if before >= maxProblems {
		return boolNode{}
	}
	n := c.special(k.typ, path)
	if n == nil {
		n = c.plain(k, path)
	}
	c.nodes[k] = n
	if len(c.problems) > before {
		delete(c.nodes, k) // every place where it is used is told
	}
	return n
}

// plain returns the node for a type that is written as its kind is. What may
// contain itself is known before its parts are compiled, so that a recursive
// type ends.
func (c *compiler) plain(k compiled, path string) node {
	switch k.typ.Kind() {
	case reflect.Bool:
		return boolNode{}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return intNode{}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return uintNode{}
	case reflect.Float32, reflect.Float64:
		return floatNode{}
	case reflect.String:
		return stringNode{}
	case reflect.Pointer:
		return c.pointer(k, path)
	case reflect.Slice, reflect.Array:
		return c.list(k, path, false)
	case reflect.Map:
		return c.mapping(k, path)
	case reflect.Struct:
		return c.record(k, path)
	case reflect.Interface:
		return c.refuse(path, k.typ, "an interface may hold a value of any type, and types have no name here; use a concrete type")
	default: // Chan, Func, Complex64, Complex128, Uintptr, UnsafePointer
		return c.refuse(path, k.typ, fmt.Sprintf("a %v has no fixed form; exclude it (semel:\"-\")", k.typ.Kind()))
	}
}

// special returns the node for a type that is not written as its kind is, or
// nil. Pointers and interfaces are what they hold.
func (c *compiler) special(t reflect.Type, path string) node {
	switch {
	case t == timeType:
		return timeNode{}
	case t == textMapType:
		return textMapNode{}
	case t.Kind() == reflect.Pointer, t.Kind() == reflect.Interface:
		return nil
	case has(t, appenderType):
		if name, ok := promoted(t, appenderType); ok {
			return c.refuse(path, t, fmt.Sprintf("its AppendIdempotency may be the one of its embedded field %s and know nothing of the others; give that field a name", name))
		}
		return ownNode{t}
	}
	if _, ok := reflect.PointerTo(t).MethodByName("ProtoReflect"); ok {
		return c.refuse(path, t, "a protocol buffer message has no canonical form; name the fields that count, in AppendIdempotency or in a struct of your own, or give the command a key")
	}
	if !has(t, textType) || t.Kind() != reflect.Struct {
		return nil
	}
	// Only where nothing else is left: a text may say less than the fields do.
	if fs := fieldsOf(t); fs.tagged || !fs.unexported {
		return nil
	}
	if name, ok := promoted(t, textType); ok {
		return c.refuse(path, t, fmt.Sprintf("its MarshalText may be the one of its embedded field %s and know nothing of the others; give that field a name, or the type the method AppendIdempotency", name))
	}
	return textNode{t}
}

func (c *compiler) pointer(k compiled, path string) node {
	if k.inKey {
		return c.refuse(path, k.typ, "a pointer in the key of a map is compared by address, which no two processes share")
	}
	n := &pointerNode{toPointer: k.typ.Elem().Kind() == reflect.Pointer}
	c.nodes[k] = n
	n.elem = c.node(compiled{typ: k.typ.Elem()}, path)
	return n
}

func (c *compiler) list(k compiled, path string, set bool) node {
	length := 0
	if k.typ.Kind() == reflect.Array {
		length = k.typ.Len()
	}
	elem := compiled{k.typ.Elem(), k.inKey}
	if elem.typ.Kind() == reflect.Uint8 && !has(elem.typ, appenderType) {
		if set {
			return c.refuse(path, k.typ, `bytes are one value, not a "set"`)
		}
		if length > c.maxSize {
			return c.refuse(path, k.typ, "it is larger than Options.MaxSize")
		}
		return bytesNode{length}
	}
	n := &listNode{length: length, set: set}
	if !set { // a set is the field's business, not the type's
		c.nodes[k] = n
	}
	n.elem = c.node(elem, path+"[]")
	if length > c.maxSize/max(len(n.elem.zero()), 1) {
		return c.refuse(path, k.typ, "it is larger than Options.MaxSize")
	}
	return n
}

func (c *compiler) mapping(k compiled, path string) node {
	n := &mapNode{typ: k.typ}
	c.nodes[k] = n
	n.key = c.node(compiled{k.typ.Key(), true}, path+"[key]")
	n.elem = c.node(compiled{k.typ.Elem(), k.inKey}, path+"[value]")
	return n
}

func (c *compiler) record(k compiled, path string) node {
	n := &recordNode{}
	c.nodes[k] = n
	fs := fieldsOf(k.typ)
	for _, p := range fs.problems {
		c.problems = append(c.problems, problem{path + p.path, p.reason})
	}
	for _, f := range fs.part {
		n.fields = append(n.fields, c.field(f, k.inKey, path+f.step()))
	}
	return n
}

func (c *compiler) field(f field, inKey bool, path string) recordField {
	r := recordField{index: f.at, step: f.step(), head: appendName(nil, f.name)}
	k := compiled{f.Type, inKey}
	switch kind := f.Type.Kind(); {
	case !f.tag.set:
		r.node = c.node(k, path)
	case kind != reflect.Slice && kind != reflect.Array, c.special(f.Type, path) != nil:
		r.node = c.refuse(path, f.Type, `only a slice or an array is a "set"`)
	default:
		r.node = c.list(k, path, true)
	}
	r.zero, r.brief = r.node.zero(), briefTag(r.node)
	switch r.node.(type) {
	case ownNode, textNode:
		r.ask = true
	default: // an array of such may have no zero form
		r.ask = r.zero == ""
	}
	return r
}

// structFields ranges over the fields of a struct.
func structFields(t reflect.Type) iter.Seq[reflect.StructField] {
	return func(yield func(reflect.StructField) bool) {
		for i := range t.NumField() {
			if !yield(t.Field(i)) {
				return
			}
		}
	}
}
