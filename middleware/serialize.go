package middleware

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/semel-go/semel/internal/response"
	"github.com/semel-go/semel/lock"
)

// SerializeOptions configure [Serialize]. The zero value is ready to use.
type SerializeOptions struct {
	// TTL and Wait stand for those of the Locker: how long a crash blocks the
	// resource, and how long a request waits for it. lock.NoWait asks once.
	// Default: the Locker's own.
	TTL, Wait time.Duration

	// Problem writes the answers that are not the handler's, in place of
	// Problem.ServeHTTP. Cache-Control, Retry-After and Location are set
	// before it is called.
	// Default: Problem.ServeHTTP.
	Problem func(http.ResponseWriter, *http.Request, Problem)
}

// Serialize returns middleware that lets one request per resource pass at a
// time, over all processes that share the locker's store. It does not make a
// request take effect once: that is [Idempotency].
//
// key names the resource. It is the locker's key as it is, so that other code
// may lock the same resource. A request that names none, for which key returns
// "" or an error, is answered with 400; one that does not get the lock in time
// with 409 and Retry-After; and if the lock's store is not available, with 503.
// The handler is not called then, and if an idempotency claim is held, it is
// released: nothing has happened.
//
// The handler's context is the lease's: it ends with cause lock.ErrLost when
// the lock can no longer be trusted, and lock.LeaseFrom finds the lease in it,
// with its fence. The resource is given back when the handler has returned, or
// panicked. A request that already holds the lock, since Serialize stands twice
// in its way, passes.
//
// Inside Idempotency the order is claim, lock, handler, unlock, complete, so
// that duplicates do not queue for the resource.
//
// Serialize panics if locker or key is nil, or if the options do not fit.
func Serialize(locker *lock.Locker, key func(*http.Request) (string, error), o SerializeOptions) func(http.Handler) http.Handler {
	switch {
	case locker == nil:
		panic("middleware: Serialize: nil locker")
	case key == nil:
		panic("middleware: Serialize: nil key function")
	}
	locker = locker.With(lock.Options{TTL: o.TTL, Wait: o.Wait})
	if err := locker.Err(); err != nil {
		panic(fmt.Sprintf("middleware: Serialize: %v", err))
	}
	return func(next http.Handler) http.Handler {
		return &serial{locker: locker, key: key, o: o, next: next}
	}
}

// serial is a handler behind Serialize.
type serial struct {
	locker *lock.Locker
	key    func(*http.Request) (string, error)
	o      SerializeOptions
	next   http.Handler
}

// ServeHTTP calls the handler under the lock.
func (s *serial) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key, err := s.key(r)
	if err != nil || key == "" {
		newProblem(CodeResourceKeyMissing, err).answer(w, r, s.o.Problem)
		return
	}
	ran := false
	err = s.locker.Do(r.Context(), key, func(ctx context.Context) error {
		ran = true
		handled := r.WithContext(ctx)
		defer giveBack(r, handled)
		s.next.ServeHTTP(w, handled)
		return nil
	})
	var held *lock.HeldError
	switch {
	case ran:
		// A lease that was lost or could not be given back is the observer's
		// news. The client has its answer.
	case errors.Is(err, lock.ErrReentrant):
		s.next.ServeHTTP(w, r)
	case errors.As(err, &held):
		p := newProblem(CodeResourceBusy, err)
		p.RetryAfter = response.SoonAfter(held.Remaining)
		p.answer(w, r, s.o.Problem)
	default:
		newProblem(CodeStoreUnavailable, err).answer(w, r, s.o.Problem)
	}
}
