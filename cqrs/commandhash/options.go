package commandhash

import (
	"errors"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// Options says how commands are hashed. The zero value is safe: every field has
// a default. MaxDepth and MaxSize decide what has a hash, never which.
type Options struct {
	// Secret keys the hash: HMAC-SHA256 instead of SHA-256. Without it whoever
	// reads the store can test guesses of what a command holds, such as a phone
	// number. At least MinSecret bytes, from a random source; another secret
	// is another key space. It is copied.
	// Default: none.
	Secret []byte

	// MaxDepth is how deeply structs, slices, arrays and maps that hold
	// something, and pointers to pointers may be nested. A cyclic command ends at it, with ErrValue. At most
	// MaxMaxDepth.
	// Default: 64.
	MaxDepth int

	// MaxSize is how many bytes a command may be written in, name and scope
	// included. A larger one is ErrValue. At most MaxMaxSize.
	// Default: 1 MiB.
	MaxSize int
}

// The bounds of Options.
const (
	MinSecret   = 16
	MaxMaxDepth = 1000
	MaxMaxSize  = 64 << 20
)

const (
	defaultMaxDepth = 64
	defaultMaxSize  = 1 << 20
	maxName         = 255
)

// withDefaults returns o with its zero fields filled in.
func (o Options) withDefaults() Options {
	if o.MaxDepth == 0 {
		o.MaxDepth = defaultMaxDepth
	}
	if o.MaxSize == 0 {
		o.MaxSize = defaultMaxSize
	}
	return o
}

// validate reports every field that is out of range; o has its defaults.
func (o Options) validate() error {
	var errs []error
	bad := func(field string, value any, rule string) {
		errs = append(errs, fmt.Errorf("%w: Options.%s is %v, must be %s", ErrInvalid, field, value, rule))
	}
	if o.Secret != nil && len(o.Secret) < MinSecret {
		// Its length alone: an error is logged.
		bad("Secret", fmt.Sprintf("%d bytes", len(o.Secret)), fmt.Sprintf("nil or at least %d", MinSecret))
	}
	if o.MaxDepth < 1 || o.MaxDepth > MaxMaxDepth {
		bad("MaxDepth", o.MaxDepth, fmt.Sprintf("from 1 to %d", MaxMaxDepth))
	}
	if o.MaxSize < 1 || o.MaxSize > MaxMaxSize {
		bad("MaxSize", o.MaxSize, fmt.Sprintf("from 1 to %d", MaxMaxSize))
	}
	return errors.Join(errs...)
}

// validateName reports what is wrong with the name of a command.
func validateName(name string) error {
	ok := name != "" && len(name) <= maxName && utf8.ValidString(name)
	for _, r := range name {
		ok = ok && unicode.IsPrint(r)
	}
	if !ok {
		return fmt.Errorf("%w: name %q must be 1 to %d bytes of printable UTF-8", ErrInvalid, name, maxName)
	}
	return nil
}
