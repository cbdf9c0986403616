package commandhash

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

// tag is what a field's semel tag says.
type tag struct {
	present bool
	exclude bool   // "-"
	key     bool   // "key"
	set     bool   // "set"
	name    string // "name=..."
}

// parseTag reads a field's semel tag. Every word of it is known or an error: a
// misspelt exclusion that passed for a name would split the hashes of all
// duplicates.
func parseTag(st reflect.StructTag) (tag, error) {
	text, ok := st.Lookup("semel")
	if !ok {
		// What is said between quotes is said of something else.
		for i, part := range strings.Split(string(st), `"`) {
			if i%2 == 0 && strings.Contains(part, "semel") {
				return tag{}, errors.New(`its tag is malformed, it must be like semel:"key"`)
			}
		}
		return tag{}, nil
	}
	t := tag{present: true}
	if text == "-" {
		t.exclude = true
		return t, nil
	}
	for word := range strings.SplitSeq(text, ",") {
		name, named := strings.CutPrefix(word, "name=")
		var twice bool
		switch {
		case named && name != "" && utf8.ValidString(name):
			twice, t.name = t.name != "", name
		case word == "key":
			twice, t.key = t.key, true
		case word == "set":
			twice, t.set = t.set, true
		default:
			return t, fmt.Errorf(`its tag says %q, which is none of "-" alone, "key", "set" and "name=..."`, word)
		}
		if twice {
			return t, fmt.Errorf("its tag says %q, and says it twice", word)
		}
	}
	return t, nil
}

// fieldName returns the name of a field in the encoding. Of its json tag it is
// all before the first comma, whatever encoding/json may make of that.
func (t tag) fieldName(f reflect.StructField) string {
	if t.name != "" {
		return t.name
	}
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "" || name == "-" {
		return f.Name
	}
	return name
}
