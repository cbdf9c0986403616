package commandhash

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
)

// field is a field of a struct that is part of the hash.
type field struct {
	reflect.StructField
	tag  tag
	name string // in the encoding
	at   int
}

func (f field) step() string { return "." + f.Name }

// fields is what is known of a struct's fields before their types are looked at.
type fields struct {
	part     []field // of the hash, sorted by name
	problems []problem
	// tagged says that the author has thought of the hash; unexported that a
	// field is part of it which nobody outside the type's package may read.
	tagged, unexported bool
}

// fieldsOf sorts out the fields of a struct.
func fieldsOf(t reflect.Type) fields {
	var fs fields
	var all []field
	allowList := false
	for i := range t.NumField() {
		sf := t.Field(i)
		tag, err := parseTag(sf.Tag)
		f := field{StructField: sf, tag: tag, name: tag.fieldName(sf), at: i}
		fs.tagged = fs.tagged || tag.present
		switch {
		case err != nil:
			fs.problem(f, err.Error())
		case tag.exclude:
		case sf.Name == "_", sf.Type.Kind() == reflect.Struct && sf.Type.Size() == 0:
			// Padding and markers hold nothing.
			if tag.present {
				fs.problem(f, "it holds nothing, so its tag has no meaning")
			}
		default:
			allowList = allowList || tag.key
			all = append(all, f)
		}
	}
	for _, f := range all {
		switch {
		case allowList && !f.tag.key:
			fs.leaveOut(f)
		case !f.IsExported():
			fs.unexported = true
			fs.problem(f, `it is unexported; exclude it, or what it is in (semel:"-"), or give its struct the method AppendIdempotency`)
		default:
			fs.part = append(fs.part, f)
		}
	}
	slices.SortStableFunc(fs.part, func(a, b field) int { return cmp.Compare(a.name, b.name) })
	for i := 1; i < len(fs.part); i++ {
		if a, b := fs.part[i-1], fs.part[i]; a.name == b.name {
			fs.problem(b, fmt.Sprintf("it is called %q, as is %s", b.name, a.Name))
		}
	}
	return fs
}

func (fs *fields) problem(f field, reason string) {
	fs.problems = append(fs.problems, problem{f.step(), reason})
}

// leaveOut leaves out a field that is not on its struct's allow-list, unless its
// tag, or one below it, shows that this is not what was meant.
func (fs *fields) leaveOut(f field) {
	switch {
	case f.tag.present:
		fs.problem(f, `other fields of its struct say "key" and its tag does not, so that it would be left out; add "key", or say "-"`)
	case listsKeys(f.Type, map[reflect.Type]bool{}):
		fs.problem(f, `fields below it say "key", but other fields of its own struct do and it does not, so that all of it would be left out; add "key", or say "-"`)
	}
}

// listsKeys reports whether a struct that values of type t may hold has an
// allow-list.
func listsKeys(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return listsKeys(t.Elem(), seen)
	case reflect.Map:
		return listsKeys(t.Key(), seen) || listsKeys(t.Elem(), seen)
	case reflect.Struct:
		for f := range structFields(t) {
			tag, err := parseTag(f.Tag)
			if tag.key || err == nil && !tag.exclude && listsKeys(f.Type, seen) {
				return true
			}
		}
	}
	return false
}
