package commandhash_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// parse reads a preimage back without knowing the command's type, which shows
// that it can be read in one way only. It returns what it holds as text.
func parse(preimage []byte) (string, error) {
	r := &reader{rest: preimage}
	if string(r.take(7)) != "semel1\x00" {
		return "", errors.New("not a preimage")
	}
	name, scope := r.text(), r.text()
	value := r.value()
	if r.err == nil && len(r.rest) > 0 {
		r.err = fmt.Errorf("%d bytes are left", len(r.rest))
	}
	return name + " " + scope + " " + value, r.err
}

type reader struct {
	rest []byte
	err  error
}

func (r *reader) fail(reason string) {
	if r.err == nil {
		r.err = errors.New(reason)
	}
	r.rest = nil
}

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.fail("too short")
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) count() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || size > 1 && r.rest[size-1] == 0 {
		r.fail("malformed number")
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *reader) zigZag() int64 {
	n := r.count()
	return int64(n>>1) ^ -int64(n&1)
}

func (r *reader) text() string { return fmt.Sprintf("%q", r.take(r.count())) }

func (r *reader) value() string {
	tag := r.take(1)
	if r.err != nil {
		return ""
	}
	switch tag[0] {
	case 'f', 't', 'n':
		return string(tag)
	case 'i':
		return fmt.Sprint(r.zigZag())
	case 'u':
		return fmt.Sprint(r.count(), "u")
	case 'd':
		return fmt.Sprintf("d%x", r.take(8))
	case 's', 'x', 'q', 'a':
		return string(tag) + r.text()
	case 'z':
		return fmt.Sprint("z", r.zigZag(), " ", r.count())
	case 'p':
		return "p" + r.value()
	case 'l', 'e':
		return string(tag) + r.values(1)
	case 'm':
		return "m" + r.values(2)
	case '{':
		return r.fields()
	}
	r.fail(fmt.Sprintf("unknown tag %q", tag))
	return ""
}

func (r *reader) values(each uint64) string {
	var all []string
	for n := r.count() * each; n > 0 && r.err == nil; n-- {
		all = append(all, r.value())
	}
	return fmt.Sprint(all)
}

func (r *reader) fields() string {
	var all []string
	last := ""
	for r.err == nil {
		name := string(r.take(r.count()))
		if name == "" {
			return "{" + strings.Join(all, ", ") + "}"
		}
		if name <= last {
			r.fail("fields are not in order")
		}
		last = name
		all = append(all, fmt.Sprintf("%q: %s", name, r.value()))
	}
	return ""
}
