package commandhash

import "reflect"

// TagError returns what is wrong with a field's tag: go vet lets no test have a
// field whose tag is malformed.
func TagError(tag reflect.StructTag) error {
	_, err := parseTag(tag)
	return err
}
