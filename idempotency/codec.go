package idempotency

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
)

// Codec turns what a run returns into the data of its record, and back for its
// duplicates. Its methods are safe for concurrent use.
type Codec[T any] interface {
	// Name is kept in the record, from 1 to 255 bytes: a record is decoded only
	// by a codec of the same name. An encoding that can no longer be read is
	// another name.
	Name() string
	// Encode encodes a result. An error costs the duplicates the result, not
	// the first caller.
	Encode(T) ([]byte, error)
	// Decode decodes what Encode made. It does not keep its argument.
	Decode([]byte) (T, error)
}

// Checker is implemented by codecs that can tell, before anything runs, that
// they cannot carry their type. A Guard asks once for each type of codec.
type Checker interface {
	// Check returns why the codec cannot carry its type, or nil. The answer
	// depends on the codec's own type alone.
	Check() error
}

// JSON is the codec "json": encoding/json, straight into and out of a T, so
// that an int64 keeps all its digits.
//
// A replay must equal the original, so Check refuses what encoding/json would
// lose: interfaces (their type is not encoded), unexported fields, types that
// encode themselves and do not decode themselves, and two fields of one name,
// besides channels, functions and the like. A field that is not to be kept says
// so with the tag `json:"-"`, exported or not. Encode refuses text that is not
// UTF-8. What remains: a time loses its monotonic reading and the name of its
// zone, a json.RawMessage comes back as the same JSON in other bytes, what a tag
// with omitempty leaves out comes back as zero, and a pointer to something nil
// as nil.
func JSON[T any]() Codec[T] { return jsonCodec[T]{} }

type jsonCodec[T any] struct{}

func (jsonCodec[T]) Name() string { return "json" }

func (jsonCodec[T]) Check() error { return checkJSON(reflect.TypeFor[T]()) }

func (c jsonCodec[T]) Encode(v T) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	// This is not for a browser's eyes, and escapes cost bytes.
	enc.SetEscapeHTML(false)
	// By its address, so that methods of *T are used, as they are in Decode.
	if err := enc.Encode(&v); err != nil {
		return nil, err
	}
	data := bytes.TrimSuffix(buf.Bytes(), []byte("\n"))

	// What is not UTF-8 comes out as this escape. Few results have it, and
	// fewer in earnest.
	if bytes.Contains(data, []byte(`\ufffd`)) {
		if back, err := c.Decode(data); err != nil || !reflect.DeepEqual(back, v) {
			return nil, errors.New("json: text that is not UTF-8 would be changed")
		}
	}
	return data, nil
}

func (jsonCodec[T]) Decode(data []byte) (T, error) {
	var v T
	err := json.Unmarshal(data, &v)
	return v, err
}

// codecChecks remembers what codecs' checks have said.
type codecChecks struct {
	said sync.Map // of error or nil, by the codec's reflect.Type
}

// checkCodec reports whether c can be used at all and, as far as it can tell,
// for T.
//
// Error: ErrInvalid.
func checkCodec[T any](checks *codecChecks, c Codec[T]) error {
	if c == nil {
		return fmt.Errorf("%w: Codec is nil", ErrInvalid)
	}
	if n := len(c.Name()); n == 0 || n > maxCodec {
		return fmt.Errorf("%w: the name of Codec %T has %d bytes, must have from 1 to %d", ErrInvalid, c, n, maxCodec)
	}
	checker, ok := c.(Checker)
	if !ok {
		return nil
	}
	key := reflect.TypeOf(c)
	said, ok := checks.said.Load(key)
	if !ok {
		err := checker.Check()
		if err != nil {
			err = fmt.Errorf("%w: Codec %s cannot carry %v: %w", ErrInvalid, c.Name(), reflect.TypeFor[T](), err)
		}
		said, _ = checks.said.LoadOrStore(key, verdict{err})
	}
	v, _ := said.(verdict)
	return v.err
}

// verdict is what a check has said.
type verdict struct{ err error }

// encodeResult returns the Result that carries v.
func encodeResult[T any](c Codec[T], v T) (Result, error) {
	data, err := c.Encode(v)
	if err != nil {
		return Result{}, fmt.Errorf("idempotency: encoding the result: %w", err)
	}
	return Result{Kind: KindValue, Codec: c.Name(), Data: data}, nil
}

// decodeResult returns the value that res carries.
//
// Error: ErrResultUnavailable, if it carries none or not one for c.
func decodeResult[T any](c Codec[T], res Result) (T, error) {
	var zero T
	if res.Kind != KindValue {
		return zero, noResult("not retained")
	}
	if res.Codec != c.Name() {
		return zero, noResult("encoded by the codec %q, not %q", res.Codec, c.Name())
	}
	v, err := c.Decode(res.Data)
	if err != nil {
		return zero, noResult("codec %q: %w", res.Codec, err)
	}
	return v, nil
}
