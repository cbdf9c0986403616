package main

import (
	"encoding/binary"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/semel-go/semel/idempotency"
)

// scopeFlags name a scope.
type scopeFlags struct {
	scope string
	parts partList
}

func (f *scopeFlags) flags(fs *flag.FlagSet) {
	fs.StringVar(&f.scope, "scope", "", "the key's scope, `S`, as the application writes it")
	fs.Var(&f.parts, "part", `one part, `+"`P`"+`, of a scope that is joined with idempotency.Scope, in their order; may be empty; `+
		`one that begins with " is read as a quoted Go string, as ls prints it`)
}

// name returns the scope, "" if none was given.
func (f *scopeFlags) name() (string, error) {
	switch {
	case len(f.parts) == 0:
		return f.scope, nil
	case f.scope != "":
		return "", usage("-scope and -part exclude each other")
	}
	return idempotency.Scope(f.parts...), nil
}

// partList is a flag that is given once for each part of a scope.
type partList []string

func (l *partList) String() string { return strings.Join(*l, ",") }

// Set implements flag.Value. A quoted part may have bytes that cannot be typed.
func (l *partList) Set(text string) error {
	if strings.HasPrefix(text, `"`) {
		part, err := strconv.Unquote(text)
		if err != nil {
			return fmt.Errorf(`begins with " and is not a quoted Go string such as "\x00shared"`)
		}
		text = part
	}
	*l = append(*l, text)
	return nil
}

// partsOf returns the parts that idempotency.Scope joined, nil if the scope does
// not look joined. A plain text is never taken for joined, although its first
// letter might be a length: the lengths of usual parts are no letters.
func partsOf(scope string) []string {
	if !strings.ContainsFunc(scope, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return nil
	}
	var parts []string
	for rest := []byte(scope); len(rest) > 0; {
		n, size := binary.Uvarint(rest)
		if size <= 0 || n > uint64(len(rest)-size) {
			return nil
		}
		parts = append(parts, string(rest[size:size+int(n)]))
		rest = rest[size+int(n):]
	}
	if idempotency.Scope(parts...) != scope {
		return nil // a length was written longer than need be
	}
	return parts
}

// quotedScope writes a scope, part by part if it was joined. It is quoted: it
// may come from a stranger, and this may be a terminal.
func quotedScope(scope string) string {
	parts := partsOf(scope)
	if parts == nil {
		return strconv.Quote(scope)
	}
	quoted := make([]string, len(parts))
	for i, part := range parts {
		quoted[i] = strconv.Quote(part)
	}
	return strings.Join(quoted, " ")
}
