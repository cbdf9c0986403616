package middleware

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/internal/response"
)

// IdempotencyOptions configure [Idempotency]. The zero value is safe: every
// field has a default.
type IdempotencyOptions struct {
	// Header names the header field that holds the key.
	// Default: Idempotency-Key.
	Header string

	// Methods are those whose requests take effect once. All others pass.
	// GET, HEAD, OPTIONS and TRACE are safe and cannot be among them.
	// Default: POST and PATCH.
	Methods []string

	// AllowMissing lets a request without a key pass to the handler, which
	// then runs as often as it is called.
	// Default: false, it is answered with 400.
	AllowMissing bool

	// MaxBody is the largest request body, in bytes. It is read, and kept in
	// memory, before the handler is called; a larger one is answered with 413
	// before anything is claimed.
	// Default: 1 MiB.
	MaxBody int64

	// MaxResponse is the largest response body, in bytes, that is recorded. A
	// larger one reaches the client whole; duplicates then get
	// result_not_retained. NoBody records none. It stands for the Guard's
	// MaxResult.
	// Default: 256 KiB.
	MaxResponse int

	// DropHeaders names further response header fields that are never
	// recorded: what is the answer's own and not the operation's. Cookies,
	// authentication, CORS, rate limits, trace and request ids need not be
	// named.
	// Default: none.
	DropHeaders []string

	// Store decides by the status and the recorded header whether an answer is
	// the outcome of its request. One that is not is released: a retry runs
	// the handler again. A handler's own word ([idempotency.Claim]) goes first.
	// It must not panic: the handler has had its effect, and a panic releases
	// the key.
	// Default: DefaultStatuses.
	Store func(status int, header http.Header) bool

	// Fingerprint returns what stands for the body in the fingerprint, where
	// two bodies that mean the same differ: multipart forms, whose boundary is
	// fresh for each attempt, or compressed uploads. It may read r.Body. An
	// error is answered with 400, and nothing is claimed.
	// Default: the body.
	Fingerprint func(r *http.Request, body []byte) ([]byte, error)

	// Lease, Retention, Wait and UnknownFor stand for those of the Guard.
	// idempotency.NoWait undoes a Wait of the Guard's.
	// Default: the Guard's own, which are 30 s, 24 h, none and the Retention
	// unless it was told otherwise.
	Lease, Retention, Wait, UnknownFor time.Duration

	// StoreTimeout bounds each single request to the store. It stands for the
	// Guard's Timeout.
	// Default: 500 ms.
	StoreTimeout time.Duration

	// Detach, if positive, gives the handler a context that goes on when the
	// client has left, and ends after this time. It still ends when the claim
	// is lost.
	// Default: 0, the context ends as net/http's does.
	Detach time.Duration

	// CommitFirst keeps an answer back until its outcome is recorded, so that
	// no client has seen an answer that the store does not have. One larger
	// than MaxResponse is sent as it is written from there on, and one that
	// cannot be recorded in time is sent all the same.
	// Default: false, an answer is sent as it is written.
	CommitFirst bool

	// FailOpen runs the handler without a claim if the store is not available,
	// and tells the Guard's observer so. A request may then take effect any
	// number of times.
	// Default: false, it is answered with 503, unless the Guard fails open.
	FailOpen bool

	// OnReplay is asked before anything of a recorded answer is told to a
	// duplicate, so that it can authorise the caller once more. An error is
	// answered with 403, or with 401 if it matches ErrNoPrincipal; the record
	// stays. It may read r.Body.
	// Default: nobody is asked; a scope tells callers apart.
	OnReplay func(r *http.Request) error

	// Problem writes the answers that are not the handler's, in place of
	// Problem.ServeHTTP. Cache-Control, Retry-After and Location are set
	// before it is called.
	// Default: Problem.ServeHTTP.
	Problem func(w http.ResponseWriter, r *http.Request, p Problem)
}

// NoBody, as MaxResponse, records statuses and no bodies: duplicates get
// result_not_retained, unless there was no body.
const NoBody = -1

// The defaults of IdempotencyOptions.
const (
	defaultHeader       = "Idempotency-Key"
	defaultMaxBody      = 1 << 20
	defaultMaxResponse  = 256 << 10
	defaultStoreTimeout = 500 * time.Millisecond
)

// withDefaults returns o with its zero fields filled in.
func (o IdempotencyOptions) withDefaults() IdempotencyOptions {
	if o.Header == "" {
		o.Header = defaultHeader
	}
	o.Header = http.CanonicalHeaderKey(o.Header)
	if o.Methods == nil {
		o.Methods = []string{http.MethodPost, http.MethodPatch}
	}
	o.Methods = slices.Clone(o.Methods)
	if o.MaxBody == 0 {
		o.MaxBody = defaultMaxBody
	}
	if o.MaxResponse == 0 {
		o.MaxResponse = defaultMaxResponse
	}
	if o.StoreTimeout == 0 {
		o.StoreTimeout = defaultStoreTimeout
	}
	return o
}

// stores reports whether an answer is the outcome of its request.
func (o *IdempotencyOptions) stores(got response.Recorded) bool {
	switch {
	case got.Status == http.StatusSwitchingProtocols: // it has run, whatever else is stored
		return true
	case o.Store == nil:
		return DefaultStatuses(got.Status, nil)
	}
	return o.Store(got.Status, got.Header())
}

// validate reports every field that is out of range and that the Guard does
// not check; o has its defaults.
func (o IdempotencyOptions) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !isToken(o.Header) {
		bad("Options.Header is %q, must be the name of a header field", o.Header)
	}
	if len(o.Methods) == 0 {
		bad("Options.Methods is empty")
	}
	for _, m := range o.Methods {
		switch {
		case !isToken(m):
			bad("Options.Methods has %q, must be a method", m)
		case m == http.MethodGet, m == http.MethodHead, m == http.MethodOptions, m == http.MethodTrace:
			bad("Options.Methods has %s, which is safe and always passes", m)
		case m != strings.ToUpper(m):
			bad("Options.Methods has %q, and the case of methods matters", m)
		}
	}
	if o.MaxBody < 0 {
		bad("Options.MaxBody is %d, must be positive", o.MaxBody)
	}
	if o.MaxResponse < NoBody {
		bad("Options.MaxResponse is %d, must be positive, or NoBody", o.MaxResponse)
	}
	if o.Detach < 0 {
		bad("Options.Detach is %v, must be at least 0", o.Detach)
	}
	return errors.Join(errs...)
}

// isToken reports whether s is a token (RFC 9110, section 5.6.2).
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		if (c < 'a' || c > 'z') && (s[i] < '0' || s[i] > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(s[i])) {
			return false
		}
	}
	return s != ""
}

// guard returns g as the options change it.
//
// Error: idempotency.ErrInvalid.
func (o IdempotencyOptions) guard(g *idempotency.Guard, maxResult int) (*idempotency.Guard, error) {
	g = g.With(idempotency.Options{
		Lease: o.Lease, Retention: o.Retention, Wait: o.Wait, UnknownFor: o.UnknownFor,
		Timeout: o.StoreTimeout, MaxResult: maxResult, FailOpen: o.FailOpen,
	})
	return g, g.Err()
}
