package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"unicode"
)

// SecretSource gives a verifier the secrets to check a delivery with. It is
// [Secrets] or [SecretFunc].
type SecretSource interface {
	// Check returns what is wrong with the source; constructors ask it.
	Check() error
	// SecretsFor returns the secrets any one of which may have signed, and the
	// tenant that they belong to, which becomes part of the event's key.
	// Neither header nor body has been verified. The secrets it returns pass
	// Secrets.Check.
	//
	// Errors: as those of Verifier.Verify.
	SecretsFor(ctx context.Context, header http.Header, body []byte) (s Secrets, tenant string, err error)
}

// Secrets are the secrets of an endpoint: one, or several while one is being
// replaced or where several of the provider's endpoints share a URL. However
// they are printed, logged or encoded, only their number is shown.
type Secrets []string

// ErrSecrets: there is no secret, or one that is empty, begins or ends with white
// space, or holds any other than the plain space or a control character, which is
// how an environment variable that is not set or was pasted with its line's end
// looks. An empty secret would let everybody sign. A space between words is
// allowed: people choose such secrets where the provider lets them.
var ErrSecrets = errors.New("webhook: invalid secrets")

// Check returns ErrSecrets, wrapped, or nil.
func (s Secrets) Check() error {
	if len(s) == 0 {
		return fmt.Errorf("%w: none", ErrSecrets)
	}
	for i, secret := range s {
		if secret == "" {
			return fmt.Errorf("%w: number %d is empty", ErrSecrets, i+1)
		}
		bad := func(r rune) bool { return r != ' ' && unicode.IsSpace(r) || unicode.IsControl(r) }
		if strings.TrimSpace(secret) != secret || strings.ContainsFunc(secret, bad) {
			return fmt.Errorf("%w: number %d holds white space or a control character", ErrSecrets, i+1)
		}
	}
	return nil
}

// SecretsFor returns s; SecretSource.
func (s Secrets) SecretsFor(context.Context, http.Header, []byte) (Secrets, string, error) {
	return s, "", nil
}

// String returns how many secrets there are.
func (s Secrets) String() string { return strconv.Itoa(len(s)) + " secrets" }

// GoString is String.
func (s Secrets) GoString() string { return s.String() }

// LogValue is String.
func (s Secrets) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText is String.
func (s Secrets) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Format prints String, whatever the verb.
func (s Secrets) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// SecretFunc finds the secrets of a delivery's tenant, for endpoints that serve
// many. What it reads in header and body is not verified yet: it may choose the
// secret, and nothing else. The tenant that it returns becomes part of the
// event's key, so that two tenants never share one.
//
// An error is answered so that the provider tries again, unless it is a
// *[RefusedError]; so are secrets that Secrets.Check refuses. No secrets at all
// means that there is no such tenant: the delivery is refused.
type SecretFunc func(ctx context.Context, header http.Header, body []byte) (s Secrets, tenant string, err error)

// Check returns ErrSecrets, wrapped, for a nil function; SecretSource.
func (f SecretFunc) Check() error {
	if f == nil {
		return fmt.Errorf("%w: nil function", ErrSecrets)
	}
	return nil
}

// SecretsFor calls f and checks what it returns; SecretSource.
func (f SecretFunc) SecretsFor(ctx context.Context, header http.Header, body []byte) (Secrets, string, error) {
	s, tenant, err := f(ctx, header, body)
	switch {
	case errors.Is(err, ErrRefused):
		return nil, "", err
	case err != nil:
		return nil, "", fmt.Errorf("%w: secrets: %w", ErrUnavailable, err)
	case len(s) == 0:
		return nil, "", Refuse(NoMatch, errors.New("no secrets for this tenant"))
	}
	if err := s.Check(); err != nil {
		return nil, "", fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return s, tenant, nil
}
