package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/lock"
	semelhttp "github.com/semel-go/semel/middleware"
)

// byPath names a resource by the request's path; "/" and "/bad" name none.
func byPath(r *http.Request) (string, error) {
	switch r.URL.Path {
	case "/":
		return "", nil
	case "/bad":
		return "/r", errBroken
	}
	return r.URL.Path, nil
}

func TestOneRequestPerResourceAtATime(t *testing.T) {
	eachStore(t, func(t *testing.T, env env) {
		locker := env.locker(t, lock.Options{Wait: time.Minute})
		var inside, most atomic.Int64
		var calls counter
		s := serve(t, semelhttp.Serialize(locker, byPath, semelhttp.SerializeOptions{})(
			http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				calls.next()
				if lease, ok := lock.LeaseFrom(r.Context()); !ok || !lease.Valid() {
					panic("no lease")
				}
				most.Store(max(most.Load(), inside.Add(1)))
				time.Sleep(time.Millisecond) // room for another, if it were let in
				inside.Add(-1)
			})))
		done := make(chan int, 8)
		for range cap(done) {
			go func() {
				a, _ := s.try(s.request(http.MethodPost, "/r", "", nil))
				done <- a.status
			}()
		}
		for range cap(done) {
			require.Equal(t, http.StatusOK, <-done)
		}
		require.Equal(t, int64(1), most.Load())
		require.Equal(t, 8, calls.total())
	})
}

func TestResourceThatIsBusy(t *testing.T) {
	eachStore(t, func(t *testing.T, env env) {
		locker := env.locker(t, lock.Options{TTL: 10 * time.Second})
		s := serve(t, semelhttp.Serialize(locker, byPath, semelhttp.SerializeOptions{Wait: lock.NoWait})(http.HandlerFunc(tellPath)))
		lease, err := locker.Acquire(t.Context(), "/r")
		require.NoError(t, err)
		a := s.post("/r", "", "")
		require.Equal(t, http.StatusConflict, a.status)
		require.Equal(t, semelhttp.CodeResourceBusy, a.code(t))
		require.Regexp(t, `^[1-5]$`, a.header.Get("Retry-After"))
		require.Equal(t, "/other", s.post("/other", "", "").body)
		require.NoError(t, lease.Release(t.Context()))
		require.Equal(t, "/r", s.post("/r", "", "").body)
		require.Equal(t, "/r", s.post("/r", "", "").body, "it was given back")
	})
}

func TestRequestThatNamesNoResource(t *testing.T) {
	t.Parallel()
	s := serve(t, semelhttp.Serialize(inMemory(t).locker(t, lock.Options{}), byPath, semelhttp.SerializeOptions{})(http.HandlerFunc(tellPath)))
	for _, path := range []string{"/", "/bad"} {
		a := s.post(path, "", "")
		require.Equal(t, http.StatusBadRequest, a.status)
		require.Equal(t, semelhttp.CodeResourceKeyMissing, a.code(t))
		require.NotContains(t, a.body, "secret")
	}
}

// downBackend is a lock's store that does not answer.
type downBackend struct{ lock.Backend }

func (downBackend) Acquire(context.Context, lock.Request) (lock.Grant, error) {
	return lock.Grant{}, errBroken
}

func TestLockThatIsNotAvailable(t *testing.T) {
	t.Parallel()
	e := inMemory(t)
	e.backend = downBackend{e.backend}
	s := serve(t, semelhttp.Serialize(e.locker(t, lock.Options{}), byPath, semelhttp.SerializeOptions{Wait: lock.NoWait})(http.HandlerFunc(tellPath)))
	requireUnavailable(t, s.post("/r", "", ""))
}

// A lock that was not obtained is no outcome of the request, even for an API
// that stores every status.
func TestLockThatIsNotObtainedReleasesTheClaim(t *testing.T) {
	eachStore(t, func(t *testing.T, env env) {
		locker := env.locker(t, lock.Options{})
		guard := env.guard(t, idempotency.Options{})
		names := &atomic.Bool{}
		key := func(r *http.Request) (string, error) {
			if !names.Load() {
				return "", nil
			}
			return byPath(r)
		}
		once := semelhttp.Idempotency(guard, semelhttp.SharedScope(), semelhttp.IdempotencyOptions{
			Store: func(int, http.Header) bool { return true },
		})
		s := serve(t, once(semelhttp.Serialize(locker, key, semelhttp.SerializeOptions{Wait: lock.NoWait})(http.HandlerFunc(tellPath))))
		require.Equal(t, semelhttp.CodeResourceKeyMissing, s.post("/r", "k", "").code(t))
		names.Store(true)
		lease, err := locker.Acquire(t.Context(), "/r")
		require.NoError(t, err)
		require.Equal(t, semelhttp.CodeResourceBusy, s.post("/r", "k", "").code(t))
		require.NoError(t, lease.Release(t.Context()))
		a := s.post("/r", "k", "")
		require.Equal(t, "/r", a.body)
		require.False(t, a.replayed())
		require.True(t, s.post("/r", "k", "").replayed())
	})
}

func TestSerializeTwiceIsOnce(t *testing.T) {
	t.Parallel()
	serialize := semelhttp.Serialize(inMemory(t).locker(t, lock.Options{}), byPath, semelhttp.SerializeOptions{Wait: lock.NoWait})
	s := serve(t, serialize(serialize(http.HandlerFunc(tellPath))))
	require.Equal(t, "/r", s.post("/r", "", "").body)
}

func TestPanicGivesTheResourceBack(t *testing.T) {
	t.Parallel()
	var calls counter
	s := serve(t, semelhttp.Serialize(inMemory(t).locker(t, lock.Options{}), byPath, semelhttp.SerializeOptions{Wait: lock.NoWait})(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if calls.next() == 1 {
				panic(http.ErrAbortHandler)
			}
			_, _ = io.WriteString(w, "ok")
		}))).fresh()
	_, err := s.try(s.request(http.MethodPost, "/r", "", nil))
	require.Error(t, err)
	require.Equal(t, "ok", s.post("/r", "", "").body)
}

// lostBackend grants leases that are lost at their first renewal.
type lostBackend struct{ lock.Backend }

func (lostBackend) Extend(context.Context, lock.Request) (lock.Grant, error) {
	return lock.Grant{}, lock.ErrTaken
}

func TestLeaseThatIsLostEndsTheContext(t *testing.T) {
	t.Parallel()
	e := inMemory(t)
	e.backend = lostBackend{e.backend}
	s := serve(t, semelhttp.Serialize(e.locker(t, lock.Options{}), byPath, semelhttp.SerializeOptions{TTL: 50 * time.Millisecond})(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			_, _ = fmt.Fprint(w, errors.Is(context.Cause(r.Context()), lock.ErrLost))
		})))
	a := s.post("/r", "", "")
	require.Equal(t, http.StatusOK, a.status)
	require.Equal(t, "true", a.body)
}

func TestSerializePanicsOnWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	locker := inMemory(t).locker(t, lock.Options{})
	for want, construct := range map[string]func(){
		"nil locker":       func() { semelhttp.Serialize(nil, byPath, semelhttp.SerializeOptions{}) },
		"nil key function": func() { semelhttp.Serialize(locker, nil, semelhttp.SerializeOptions{}) },
		"TTL":              func() { semelhttp.Serialize(locker, byPath, semelhttp.SerializeOptions{TTL: 1}) },
		"Wait":             func() { semelhttp.Serialize(locker, byPath, semelhttp.SerializeOptions{Wait: -7}) },
	} {
		func() {
			defer func() { require.Contains(t, fmt.Sprint(recover()), want) }()
			construct()
		}()
	}
}
