package cqrs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/semel-go/semel/idempotency"
)

// strictJSON is idempotency.JSON, except that a result with a field that R does
// not have is not decoded: a replay equals the original, or there is none.
type strictJSON[R any] struct{ idempotency.Codec[R] }

func newStrictJSON[R any]() idempotency.Codec[R] { return strictJSON[R]{idempotency.JSON[R]()} }

// Check is that of the JSON codec.
func (c strictJSON[R]) Check() error { return check(c.Codec) }

// Decode decodes a whole result.
func (c strictJSON[R]) Decode(data []byte) (R, error) {
	var v R
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		return v, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return v, errors.New("json: there is more after the result")
	}
	return v, nil
}

// versioned is a codec for one version of its type.
type versioned[R any] struct {
	idempotency.Codec[R]
	name string
}

// Name names the codec and the version.
func (c versioned[R]) Name() string { return c.name }

// Check is that of the codec.
func (c versioned[R]) Check() error { return check(c.Codec) }

// check returns why the codec cannot carry its type, as far as it can tell.
func check[R any](c idempotency.Codec[R]) error {
	if checker, ok := c.(idempotency.Checker); ok {
		return checker.Check()
	}
	return nil
}

// newCodec returns c for one version of R.
//
// Error: c is none, or cannot carry an R.
func newCodec[R any](c idempotency.Codec[R], version uint32) (idempotency.Codec[R], error) {
	const maxName = 255 // as idempotency.Codec says
	if c == nil {
		return nil, fmt.Errorf("%w: nil codec", ErrInvalid)
	}
	if err := check(c); err != nil {
		return nil, fmt.Errorf("%w: the codec %s cannot carry the result %v: %w", ErrInvalid, c.Name(), reflect.TypeFor[R](), err)
	}
	if version > 0 {
		c = versioned[R]{c, fmt.Sprintf("%s;v=%d", c.Name(), version)}
	}
	if n := len(c.Name()); n == 0 || n > maxName {
		return nil, fmt.Errorf("%w: the codec's name has %d bytes, must have from 1 to %d", ErrInvalid, n, maxName)
	}
	return c, nil
}
