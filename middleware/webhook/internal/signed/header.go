// Package signed holds what the adapters of signed deliveries have in common:
// reading one header, comparing MACs, judging a timestamp, and naming a tenant. It
// does not know what any provider signs. What it refuses is a *webhook.RefusedError.
package signed

import (
	"fmt"
	"net/http"

	"github.com/semel-go/semel/middleware/webhook"
)

// maxHeader bounds the value of a header. Providers send less than 1 KiB;
// net/http lets up to 1 MiB through, and a parser would work on it unpaid.
const maxHeader = 4 << 10

// Header returns the value of the header name, which is in canonical form. It
// refuses one that is missing or empty, and one that is sent twice: a proxy and
// we would each choose another.
func Header(h http.Header, name string) (string, error) {
	value, err := Optional(h, name)
	if err == nil && value == "" {
		return "", webhook.Refuse(webhook.MissingHeader, fmt.Errorf("header %s", name))
	}
	return value, err
}

// Optional is Header for one that may be missing: "".
func Optional(h http.Header, name string) (string, error) {
	values := h[name]
	switch {
	case len(values) == 0:
		return "", nil
	case len(values) > 1:
		return "", webhook.Refuse(webhook.Malformed, fmt.Errorf("header %s is there %d times", name, len(values)))
	case len(values[0]) > maxHeader:
		return "", webhook.Refuse(webhook.Malformed, fmt.Errorf("header %s is longer than %d bytes", name, maxHeader))
	}
	return values[0], nil
}

// Name reports whether name is fit to be a provider's: it is part of keys for
// ever, and people type it.
func Name(name string) bool {
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return name != ""
}

// Secrets returns what is wrong with the secrets that a verifier was made with.
func Secrets(s webhook.SecretSource) error {
	if s == nil {
		return fmt.Errorf("%w: nil source", webhook.ErrSecrets)
	}
	return s.Check()
}
