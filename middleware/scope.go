package middleware

import (
	"errors"
	"net/http"

	"github.com/semel-go/semel/idempotency"
)

// ErrNoPrincipal is what a scope function returns, wrapped or not, for a
// request of which it is not known who sent it; OnReplay may, too. It is
// answered with 401. The header WWW-Authenticate, which RFC 9110 (section
// 15.5.2) wants there, only the authentication knows: let it stand before this
// middleware and answer itself, or set the header in IdempotencyOptions.Problem.
var ErrNoPrincipal = errors.New("middleware: no principal")

// SharedScope returns a scope function which says that all callers share their
// keys: who sends another's key with the same request gets the other's answer.
// It is right where there is one caller, or where callers are one to you.
func SharedScope() func(*http.Request) (string, error) {
	// With a byte that no tenant's name has.
	return func(*http.Request) (string, error) { return "\x00shared", nil }
}

// layer keeps keys that came in a header field apart from those of others who
// use the same guard.
const layer = "http"

// errEmptyScope says that a scope function returned no scope. If all those who
// get none shared one, a tenant would be given another's answers.
var errEmptyScope = errors.New("middleware: empty scope")

// keyFor returns the key of a request: that of its header field in its scope,
// and nothing else. Method and route are no part of it, as what they are called
// depends on where the middleware is mounted; they are in the fingerprint.
func keyFor(r *http.Request, id string, scope func(*http.Request) (string, error)) (idempotency.Key, error) {
	name, err := scope(r)
	if err == nil && name == "" {
		err = errEmptyScope
	}
	if err != nil {
		return idempotency.Key{}, err
	}
	return idempotency.Key{Scope: idempotency.Scope(layer, name), ID: id}, nil
}
