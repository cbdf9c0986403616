package commandhash

import (
	"reflect"
	"slices"
	"strings"
)

// Finding is a field that is part of a command's hash and may not be meant to.
type Finding struct {
	// Path is the field, in Go names: "Items[].SentAt".
	Path string
	// Reason says what is odd about it.
	Reason string
}

// String returns path and reason.
func (f Finding) String() string { return f.Path + ": " + f.Reason }

// volatile is what names of fields contain, in lower case and without
// separators, that are new each time a command is sent.
func volatile() []string {
	return []string{
		"traceid", "traceparent", "tracestate", "spanid", "baggage",
		"requestid", "correlationid", "causationid", "messageid", "deliveryid",
		"timestamp", "nonce", "attempt", "retrycount", "retries",
		"sentat", "sendtime", "createdat", "updatedat", "requestedat", "receivedat",
		"issuedat", "publishedat", "occurredat", "enqueuedat",
	}
}

// Lint returns the fields that are part of the hash of a C and are likely to
// differ between two tellings of one command: times, and names such as TraceID.
// It is advice, for a test of yours; [New] does not ask it. Fields that say "key"
// are on their struct's allow-list, so somebody has thought of them. A type
// that is used in several places is looked at once, and a field that New refuses
// not at all.
func Lint[C any]() []Finding {
	l := linter{seen: map[reflect.Type]bool{}}
	l.look(reflect.TypeFor[C](), "")
	slices.SortStableFunc(l.findings, func(a, b Finding) int { return strings.Compare(a.Path, b.Path) })
	return l.findings
}

type linter struct {
	seen     map[reflect.Type]bool
	findings []Finding
}

// look goes through a type once.
func (l *linter) look(t reflect.Type, path string) {
	if l.seen[t] || t == timeType {
		return
	}
	l.seen[t] = true
	switch t.Kind() {
	case reflect.Pointer:
		l.look(t.Elem(), path)
	case reflect.Slice, reflect.Array:
		l.look(t.Elem(), path+"[]")
	case reflect.Map:
		l.look(t.Key(), path+"[key]")
		l.look(t.Elem(), path+"[value]")
	case reflect.Struct:
		if has(t, appenderType) {
			return // it decides for itself
		}
		fs := fieldsOf(t)
		if fs.unexported {
			return // refused, or written by its MarshalText
		}
		for _, f := range fs.part {
			at := path + f.step()
			if !f.tag.key {
				l.field(f, strings.TrimPrefix(at, "."))
			}
			l.look(f.Type, at)
		}
	}
}

// field tells what is odd about a field.
func (l *linter) field(f field, path string) {
	find := func(reason string) {
		l.findings = append(l.findings, Finding{path, reason + `; if two tellings of one command may differ in it, exclude it (semel:"-")`})
	}
	if holds(f.Type, timeType) {
		find("a time is often that of the sending")
		return
	}
	plain := strings.NewReplacer("_", "", "-", "", ".", "")
	for _, name := range []string{f.Name, f.name} {
		name = strings.ToLower(plain.Replace(name))
		if slices.ContainsFunc(volatile(), func(v string) bool { return strings.Contains(name, v) }) {
			find("its name is of something that is new each time")
			return
		}
	}
}

// holds reports whether t is want, or a pointer to it, a list or a map of it.
func holds(t, want reflect.Type) bool {
	for range 8 { // a type may be a list of itself
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
			t = t.Elem()
		default:
			return t == want
		}
	}
	return false
}
