package jsonfield

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Value is a JSON value as it was written; nil if there is none.
type Value []byte

// Is reports whether v is a string that means s.
func (v Value) Is(s string) bool {
	if bytes.IndexByte(v, '\\') < 0 {
		return len(v) == len(s)+2 && string(v[1:len(v)-1]) == s
	}
	text, ok := v.Text()
	return ok && text == s
}

// Text returns what v means if it is a string. One that holds half a surrogate
// pair is none: all of them would come out the same.
func (v Value) Text() (string, bool) {
	if len(v) < 2 || v[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(v, '\\') < 0 {
		return string(v[1 : len(v)-1]), true
	}
	var s string
	if err := json.Unmarshal(v, &s); err != nil || strings.ContainsRune(s, utf8.RuneError) {
		return "", false
	}
	return s, true
}

// String is Text, or "".
func (v Value) String() string {
	s, _ := v.Text()
	return s
}

// ID is String, and takes an integer, too, as it was written.
func (v Value) ID() string {
	for i, c := range v {
		if (c < '0' || c > '9') && (i > 0 || c != '-') {
			return v.String()
		}
	}
	return string(v)
}

// Time reads v as seconds since 1970 or as text in the form of RFC 3339; zero
// if it is neither.
func (v Value) Time() time.Time {
	if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
		return time.Unix(n, 0).UTC()
	}
	t, err := time.Parse(time.RFC3339Nano, v.String())
	if err != nil {
		return time.Time{}
	}
	return t
}
