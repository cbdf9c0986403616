package commandhash

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"hash"
	"reflect"
	"sync"
)

// domain begins every preimage, so that nothing else that is hashed is taken for
// a command, nor a later encoding for this one.
const domain = "semel1\x00"

// Hasher hashes commands of one type under one name. It may be used by many
// goroutines.
type Hasher[C any] struct {
	name   string
	head   []byte // the domain and the name
	secret []byte
	depth  int
	size   int
	root   node
	states sync.Pool // of *state[C]
}

// state is what one call works with. It is pooled: the box gives reflection an
// address to look at, which a parameter has only at the price of an allocation.
type state[C any] struct {
	box C
	at  reflect.Value // the box
	enc encoder
	mac hash.Hash // nil without a secret
	sum Sum
}

// New returns a Hasher for the command with that name: 1 to 255 bytes, explicit
// and versioned ("order.create.v1"), since it is part of every hash. It fails
// with [ErrInvalid], or with [ErrType] if C has no fixed form, and tells all
// that is wrong at once.
func New[C any](name string, o Options) (*Hasher[C], error) {
	o = o.withDefaults()
	if err := errors.Join(validateName(name), o.validate()); err != nil {
		return nil, err
	}
	root, problems := compile(reflect.TypeFor[C](), o.MaxSize)
	if len(problems) > 0 {
		errs := make([]error, 0, len(problems))
		for _, p := range problems {
			errs = append(errs, p.typeError(name))
		}
		return nil, errors.Join(errs...)
	}
	return &Hasher[C]{
		name:   name,
		head:   appendName([]byte(domain), name),
		secret: bytes.Clone(o.Secret),
		depth:  o.MaxDepth,
		size:   o.MaxSize,
		root:   root,
	}, nil
}

// Sum returns the hash of c. The scope, which may be empty, tells apart those
// for whom the same command means two things, such as tenants. It fails with
// [ErrValue]. A panic in one of the command's own methods goes on to the caller.
func (h *Hasher[C]) Sum(scope string, c C) (Sum, error) {
	s := h.take()
	var sum Sum
	err := s.write(h, scope, c)
	switch {
	case err != nil:
	case s.mac == nil:
		sum = sha256.Sum256(s.enc.buf)
	default:
		s.mac.Reset()
		s.mac.Write(s.enc.buf) // a hash.Hash returns no error
		s.mac.Sum(s.sum[:0])
		sum = s.sum
	}
	h.put(s)
	if err != nil {
		return Sum{}, err
	}
	return sum, nil
}

// AppendEncoding appends to dst what [Hasher.Sum] hashes, and returns it: for
// tests of another implementation, and to see why two hashes differ. It holds
// the command in clear, and no secret. On an error, an [ErrValue], it returns
// dst as it was.
func (h *Hasher[C]) AppendEncoding(dst []byte, scope string, c C) ([]byte, error) {
	s := h.take()
	err := s.write(h, scope, c)
	if err == nil {
		dst = append(dst, s.enc.buf...)
	}
	h.put(s)
	if err != nil {
		return dst, err
	}
	return dst, nil
}

// take returns a state that nobody else has.
func (h *Hasher[C]) take() *state[C] {
	if s, ok := h.states.Get().(*state[C]); ok {
		return s
	}
	s := &state[C]{}
	s.at = reflect.ValueOf(&s.box).Elem()
	s.enc.maxDepth, s.enc.maxSize = h.depth, h.size
	if h.secret != nil {
		s.mac = hmac.New(sha256.New, h.secret)
	}
	return s
}

// put gives a state back, without anything of the command. It is not deferred: a
// state in which a method has panicked is in no known condition, and is dropped.
func (h *Hasher[C]) put(s *state[C]) {
	var none C
	s.box, s.sum = none, Sum{}
	s.enc.reset()
	h.states.Put(s)
}

// write leaves the preimage of c in s.enc.buf.
func (s *state[C]) write(h *Hasher[C], scope string, c C) error {
	s.box = c
	s.enc.buf = append(s.enc.buf, h.head...)
	err := s.enc.text(scope)
	if err == nil {
		err = s.value(h.root)
	}
	if err == nil {
		err = s.enc.full()
	}
	if err != nil { // not to be returned as it is: a nil *valueError is no nil error
		err.name = h.name
		return err
	}
	return nil
}

// value writes what is in the box. A command is the same command behind any
// number of pointers.
func (s *state[C]) value(root node) *valueError {
	v := s.at
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return &valueError{reason: "the command is a nil pointer"}
		}
		v = v.Elem()
	}
	return root.encode(&s.enc, v)
}
