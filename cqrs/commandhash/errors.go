package commandhash

import (
	"errors"
	"fmt"
	"strings"
)

// What this package reports. Match them with [errors.Is]: they arrive wrapped.
var (
	// ErrInvalid: the name or an option is out of range.
	ErrInvalid = errors.New("commandhash: invalid")
	// ErrType: the command's type has no fixed form. The error names every
	// field that is at fault.
	ErrType = errors.New("commandhash: type cannot be hashed")
	// ErrValue: this one command has no form: it holds a NaN, is a nil pointer,
	// is cyclic, too deep or too large, or one of its methods has failed. The
	// error names the field, and never what it holds.
	ErrValue = errors.New("commandhash: value cannot be hashed")
)

// maxPath is how much of a path is told: that of a cycle has no end.
const maxPath = 200

// valueError is an ErrValue, with the path to what is at fault. The path is made
// on the way back, so that it costs nothing where there is no error.
type valueError struct {
	name, path, reason string
	cause              error
}

func (e *valueError) Error() string {
	parts := []string{ErrValue.Error(), e.name}
	if path := strings.TrimPrefix(e.path, "."); len(path) > maxPath {
		parts = append(parts, path[:maxPath]+"...")
	} else if path != "" {
		parts = append(parts, path)
	}
	text := strings.Join(append(parts, e.reason), ": ")
	if e.cause != nil {
		text += ": " + e.cause.Error()
	}
	return text
}

func (e *valueError) Is(target error) bool { return target == ErrValue }
func (e *valueError) Unwrap() error        { return e.cause }

// at puts a step before the path. A nil error stays nil.
func (e *valueError) at(step string) *valueError {
	if e != nil {
		e.path = step + e.path
	}
	return e
}

// problem is what is wrong with a part of a type.
type problem struct{ path, reason string }

// typeError returns p as an ErrType.
func (p problem) typeError(name string) error {
	if path := strings.TrimPrefix(p.path, "."); path != "" {
		return fmt.Errorf("%w: %s: %s: %s", ErrType, name, path, p.reason)
	}
	return fmt.Errorf("%w: %s: %s", ErrType, name, p.reason)
}
