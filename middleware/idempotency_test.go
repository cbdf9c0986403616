package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	semelhttp "github.com/semel-go/semel/middleware"
	"github.com/semel-go/semel/observe"
)

func TestRequestTakesEffectOnceAndIsReplayed(t *testing.T) {
	eachStore(t, func(t *testing.T, env env) {
		var calls counter
		s := env.protect(t, func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				panic(err)
			}
			w.Header().Set("Location", "/payments/1")
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusCreated)
			_, _ = fmt.Fprintf(w, `{"call":%d,"got":%s}`, calls.next(), body)
		}, semelhttp.IdempotencyOptions{})
		first := s.post("/payments", "k", `{"amount":12}`)
		require.Equal(t, http.StatusCreated, first.status)
		require.JSONEq(t, `{"call":1,"got":{"amount":12}}`, first.body)
		require.Empty(t, first.header["Idempotent-Replayed"])
		for range 3 {
			again := s.post("/payments", "k", `{"amount":12}`)
			require.True(t, again.replayed())
			again.header.Del("Idempotent-Replayed")
			again.header["Date"] = first.header["Date"]
			require.Equal(t, first, again)
		}
		require.Equal(t, 1, calls.total())
		require.Equal(t, semelhttp.CodeKeyMismatch, s.post("/payments", "k", `{"amount":13}`).code(t))
		require.JSONEq(t, `{"call":2,"got":{}}`, s.post("/payments", "other", `{}`).body)
	})
}

// statuses is the table of what is stored.
func TestStatusDecidesWhatIsStored(t *testing.T) {
	t.Parallel()
	answerStatus := func(w http.ResponseWriter, r *http.Request) {
		status, err := strconv.Atoi(r.URL.Query().Get("status"))
		if err != nil {
			panic(err)
		}
		w.WriteHeader(status)
	}
	released := map[string][]int{
		"default": {401, 403, 404, 405, 406, 408, 409, 412, 413, 415, 423, 425, 429, 499, 500, 502, 503, 504, 599},
		"stripe":  {400, 401, 409, 429},
		"success": {301, 303, 307, 400, 402, 404, 410, 422, 451, 500, 503},
	}
	stored := map[string][]int{
		"default": {200, 201, 202, 204, 206, 299, 301, 303, 304, 307, 308, 400, 402, 410, 422, 451},
		"stripe":  {200, 204, 303, 402, 403, 404, 422, 500, 503},
		"success": {200, 201, 204},
	}
	for name, store := range map[string]func(int, http.Header) bool{
		"default": nil, "stripe": semelhttp.StripeStatuses, "success": semelhttp.SuccessOnly,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := inMemory(t).protect(t, answerStatus, semelhttp.IdempotencyOptions{Store: store})
			s.Client().CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			check := func(statuses []int, want bool) {
				for _, status := range statuses {
					path := fmt.Sprint("/?status=", status)
					require.Equal(t, status, s.post(path, path, "").status)
					again := s.post(path, path, "")
					require.Equal(t, status, again.status)
					require.Equal(t, want, again.replayed(), status)
				}
			}
			check(stored[name], true)
			check(released[name], false)
		})
	}
}

func TestStoreDecidesByHeader(t *testing.T) {
	t.Parallel()
	s := inMemory(t).protect(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Final", "yes")
		w.WriteHeader(http.StatusConflict)
	}, semelhttp.IdempotencyOptions{
		Store: func(_ int, h http.Header) bool { return h.Get("X-Final") == "yes" },
	})
	require.False(t, s.post("/", "k", "").replayed())
	require.True(t, s.post("/", "k", "").replayed())
}

func TestHandlerSteers(t *testing.T) {
	eachStore(t, func(t *testing.T, env env) {
		s := env.protect(t, func(w http.ResponseWriter, r *http.Request) {
			claim, ok := idempotency.ClaimFrom(r.Context())
			if !ok {
				panic("no claim")
			}
			switch r.URL.Path {
			case "/release":
				claim.Release()
			case "/keep":
				claim.Keep()
				w.WriteHeader(http.StatusServiceUnavailable)
			case "/unknown":
				claim.Unknown()
				w.WriteHeader(http.StatusBadGateway)
			case "/permanent":
				claim.Permanent(errors.New("a secret"))
				w.WriteHeader(http.StatusConflict)
			}
			_, _ = fmt.Fprintf(w, "attempt %d", claim.Attempt())
		}, semelhttp.IdempotencyOptions{})

		require.Equal(t, "attempt 1", s.post("/release", "a", "").body)
		a := s.post("/release", "a", "")
		require.Equal(t, "attempt 2", a.body)
		require.False(t, a.replayed())

		require.Equal(t, "attempt 1", s.post("/keep", "b", "").body)
		a = s.post("/keep", "b", "")
		require.Equal(t, http.StatusServiceUnavailable, a.status)
		require.Equal(t, "attempt 1", a.body)
		require.True(t, a.replayed())

		require.Equal(t, http.StatusBadGateway, s.post("/unknown", "c", "").status)
		a = s.post("/unknown", "c", "")
		p := a.problem(t)
		require.Equal(t, http.StatusConflict, a.status)
		require.Equal(t, semelhttp.CodeOutcomeUnknown, p.Code)
		require.Empty(t, a.header["Retry-After"])
		require.WithinDuration(t, time.Now().Add(24*time.Hour), p.Until, time.Minute)
		require.Equal(t, semelhttp.CodeKeyMismatch, s.post("/unknown", "c", "x").code(t), "mismatch goes first")

		require.Equal(t, http.StatusConflict, s.post("/permanent", "d", "").status)
		a = s.post("/permanent", "d", "")
		require.Equal(t, http.StatusConflict, a.status)
		require.Equal(t, "attempt 1", a.body, "the answer, not the error")
		require.True(t, a.replayed())
	})
}

// Why a key was released is the observer's to know.
func TestObserverIsToldWhichStatusWasReleased(t *testing.T) {
	t.Parallel()
	seen := &witness{}
	guard := inMemory(t).guard(t, idempotency.Options{Observer: seen})
	s := serve(t, semelhttp.Idempotency(guard, semelhttp.SharedScope(), semelhttp.IdempotencyOptions{})(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			claim, _ := idempotency.ClaimFrom(r.Context())
			switch r.URL.Path {
			case "/503":
				w.WriteHeader(http.StatusServiceUnavailable)
			case "/released":
				claim.Release()
			case "/unknown":
				claim.Unknown()
			}
		})))
	for path, kind := range map[string]observe.Kind{
		"/503": observe.RunFailed, "/released": observe.RunFailed, "/unknown": observe.RunUnknown,
	} {
		seen.forget()
		status := s.post(path, path, "").status
		require.Equal(t, 1, seen.count(kind), path)
		require.ErrorContains(t, seen.last(kind).Err, strconv.Itoa(status), path)
	}
}

func TestMiddlewareTwiceInOneChainIsOne(t *testing.T) {
	eachStore(t, func(t *testing.T, env env) {
		var calls counter
		guard := env.guard(t, idempotency.Options{})
		once := semelhttp.Idempotency(guard, semelhttp.SharedScope(), semelhttp.IdempotencyOptions{})
		s := serve(t, once(once(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			calls.next()
			_, _ = io.Copy(w, r.Body)
		}))))
		require.Equal(t, "body", s.post("/", "k", "body").body)
		a := s.post("/", "k", "body")
		require.Equal(t, "body", a.body)
		require.True(t, a.replayed())
		require.Equal(t, 1, calls.total())
	})
}

func TestScopes(t *testing.T) {
	eachStore(t, func(t *testing.T, env env) {
		var calls counter
		guard := env.guard(t, idempotency.Options{})
		tenant := func(r *http.Request) (string, error) {
			switch name := r.Header.Get("Tenant"); name {
			case "":
				return "", nil
			case "nobody":
				return "", fmt.Errorf("token expired: %w", semelhttp.ErrNoPrincipal)
			case "broken":
				return "", errBroken
			default:
				return name, nil
			}
		}
		s := serve(t, semelhttp.Idempotency(guard, tenant, semelhttp.IdempotencyOptions{})(
			http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				calls.next()
				_, _ = io.WriteString(w, r.Header.Get("Tenant"))
			})))
		for range 2 {
			require.Equal(t, "a", s.post("/", "k", "", "Tenant", "a").body)
			require.Equal(t, "b", s.post("/", "k", "", "Tenant", "b").body)
		}
		require.Equal(t, 2, calls.total())

		a := s.post("/", "k", "", "Tenant", "nobody")
		require.Equal(t, http.StatusUnauthorized, a.status)
		require.Equal(t, semelhttp.CodeNoPrincipal, a.code(t))
		require.NotContains(t, a.body, "token")
		for _, name := range []string{"", "broken"} {
			a = s.post("/", "k", "", "Tenant", name)
			require.Equal(t, http.StatusInternalServerError, a.status)
			require.Equal(t, semelhttp.CodeScopeFailed, a.code(t))
		}
		require.Equal(t, 2, calls.total())
	})
}

func TestOptionsThatDoNotFitPanic(t *testing.T) {
	t.Parallel()
	guard := inMemory(t).guard(t, idempotency.Options{})
	with := func(o semelhttp.IdempotencyOptions) func() {
		return func() { semelhttp.Idempotency(guard, semelhttp.SharedScope(), o) }
	}
	for want, construct := range map[string]func(){
		"middleware: Idempotency: nil guard":          func() { semelhttp.Idempotency(nil, semelhttp.SharedScope(), semelhttp.IdempotencyOptions{}) },
		"middleware: Idempotency: nil scope function": func() { semelhttp.Idempotency(guard, nil, semelhttp.IdempotencyOptions{}) },
		"Options.Header":           with(semelhttp.IdempotencyOptions{Header: "a key"}),
		"GET, which is safe":       with(semelhttp.IdempotencyOptions{Methods: []string{"GET"}}),
		"Options.Methods is empty": with(semelhttp.IdempotencyOptions{Methods: []string{}}),
		`"post", and the case`:     with(semelhttp.IdempotencyOptions{Methods: []string{"post"}}),
		`"", must be a method`:     with(semelhttp.IdempotencyOptions{Methods: []string{""}}),
		"Options.MaxBody":          with(semelhttp.IdempotencyOptions{MaxBody: -1}),
		"Options.MaxResponse":      with(semelhttp.IdempotencyOptions{MaxResponse: -2}),
		"Options.MaxResult":        with(semelhttp.IdempotencyOptions{MaxResponse: 64 << 20}),
		"Options.Detach":           with(semelhttp.IdempotencyOptions{Detach: -1}),
		"Options.Lease":            with(semelhttp.IdempotencyOptions{Lease: time.Millisecond}),
		"Options.Retention":        with(semelhttp.IdempotencyOptions{Retention: time.Second}),
		"Options.Timeout":          with(semelhttp.IdempotencyOptions{StoreTimeout: -1}),
	} {
		func() {
			defer func() { require.Contains(t, fmt.Sprint(recover()), want) }()
			construct()
		}()
	}
	_, err := guard.Run(t.Context(), idempotency.Key{Scope: "http", ID: "options"}, idempotency.RunOptions{},
		func(context.Context) (idempotency.Result, error) { return idempotency.Result{}, nil })
	require.NoError(t, err, "the check has claimed nothing")
}
