package middleware_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	semelhttp "github.com/semel-go/semel/middleware"
	"github.com/semel-go/semel/observe"
)

// broke returns a store that a test can break, a server whose handler counts
// its calls, and what the observer sees.
func (e env) broke(t *testing.T, o semelhttp.IdempotencyOptions) (*faulty, *server, *witness, *counter) {
	t.Helper()
	store := &faulty{Store: e.store}
	var calls counter
	seen := &witness{}
	guard := env{store: store}.guard(t, idempotency.Options{Observer: seen})
	s := serve(t, semelhttp.Idempotency(guard, semelhttp.SharedScope(), o)(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, calls.next()) })))
	return store, s, seen, &calls
}

func requireUnavailable(t *testing.T, a answer) {
	t.Helper()
	require.Equal(t, http.StatusServiceUnavailable, a.status)
	require.Equal(t, semelhttp.CodeStoreUnavailable, a.code(t))
	require.Equal(t, "1", a.header.Get("Retry-After"))
	require.NotContains(t, a.body, "secret")
}

func TestStoreThatIsDownRunsNothing(t *testing.T) {
	eachStore(t, func(t *testing.T, env env) {
		store, s, _, calls := env.broke(t, semelhttp.IdempotencyOptions{})
		store.onBegin.set(broken)
		requireUnavailable(t, s.post("/", "k", ""))
		require.Zero(t, calls.total())
		store.onBegin.clear()
		require.Equal(t, "1", s.post("/", "k", "").body)
	})
}

// A store that takes forever is as good as none, whether or not its client
// keeps deadlines.
func TestStoreThatHangsRunsNothing(t *testing.T) {
	t.Parallel()
	store, s, _, calls := inMemory(t).broke(t, semelhttp.IdempotencyOptions{StoreTimeout: 20 * time.Millisecond})
	healed := make(chan struct{})
	store.onBegin.set(func(context.Context) error { <-healed; return errBroken })
	requireUnavailable(t, s.post("/", "k", ""))
	require.Zero(t, calls.total())
	close(healed)
}

func TestClosedGuardRunsNothing(t *testing.T) {
	t.Parallel()
	guard := inMemory(t).guard(t, idempotency.Options{})
	s := serve(t, semelhttp.Idempotency(guard, semelhttp.SharedScope(), semelhttp.IdempotencyOptions{})(http.HandlerFunc(tellPath)))
	require.NoError(t, guard.Close(t.Context()))
	requireUnavailable(t, s.post("/", "k", ""))
}

func TestFailOpenRunsUnguarded(t *testing.T) {
	eachStore(t, func(t *testing.T, env env) {
		for _, commitFirst := range []bool{false, true} {
			store, s, seen, calls := env.broke(t, semelhttp.IdempotencyOptions{FailOpen: true, CommitFirst: commitFirst})
			store.onBegin.set(broken)
			require.Equal(t, "1", s.post("/", "k", "").body)
			a := s.post("/", "k", "")
			require.Equal(t, "2", a.body)
			require.False(t, a.replayed())
			require.Equal(t, 2, calls.total())
			require.Equal(t, 2, seen.count(observe.RunUnguarded))
		}
	})
}

func TestOutcomeThatCannotBeRecordedHarmsNobody(t *testing.T) {
	eachStore(t, func(t *testing.T, env env) {
		for _, commitFirst := range []bool{false, true} {
			store, s, seen, calls := env.broke(t, semelhttp.IdempotencyOptions{CommitFirst: commitFirst})
			key := fmt.Sprint(commitFirst)
			store.onComplete.set(broken)
			require.Equal(t, "1", s.post("/", key, "").body, "the first caller has its answer")
			require.Equal(t, semelhttp.CodeInProgress, s.post("/", key, "").code(t), "the claim is kept")
			require.NotZero(t, seen.count(observe.CompleteFailed))
			store.onComplete.clear()
			require.Eventually(t, func() bool { return s.post("/", key, "").replayed() }, 10*time.Second, 5*time.Millisecond)
			require.Equal(t, 1, calls.total())
		}
	})
}

func TestAnswerIsSentIfCompletingHangs(t *testing.T) {
	t.Parallel()
	for _, commitFirst := range []bool{false, true} {
		store, s, _, _ := inMemory(t).broke(t, semelhttp.IdempotencyOptions{
			CommitFirst: commitFirst, StoreTimeout: 20 * time.Millisecond,
		})
		healed := make(chan struct{})
		store.onComplete.set(func(context.Context) error { <-healed; return nil })
		require.Equal(t, "1", s.post("/", "k", "").body)
		close(healed)
		require.Eventually(t, func() bool { return s.post("/", "k", "").replayed() }, 10*time.Second, 5*time.Millisecond)
	}
}

// written is a writer that knows how much went through it.
type written struct {
	http.ResponseWriter
	bytes *atomic.Int64
}

func (w written) Write(p []byte) (int, error) {
	w.bytes.Add(int64(len(p)))
	return w.ResponseWriter.Write(p)
}

func (w written) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func TestCommitFirst(t *testing.T) {
	eachStore(t, func(t *testing.T, env env) {
		for i, c := range []struct {
			commitFirst bool
			size        int
			first       bool // the answer was on its way before its outcome was recorded
		}{
			{commitFirst: false, size: 10, first: true},
			{commitFirst: true, size: 10, first: false},
			{commitFirst: true, size: 11, first: true}, // too large to be held back
		} {
			store := &faulty{Store: env.store}
			guard := env
			guard.store = store
			protected := semelhttp.Idempotency(guard.guard(t, idempotency.Options{}), semelhttp.SharedScope(),
				semelhttp.IdempotencyOptions{CommitFirst: c.commitFirst, MaxResponse: 10})(
				http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.WriteHeader(http.StatusAccepted)
					for range c.size {
						_, _ = io.WriteString(w, "x")
						if err := http.NewResponseController(w).Flush(); err != nil {
							panic(err)
						}
					}
				}))
			var sent, atCommit atomic.Int64
			store.onComplete.set(func(context.Context) error { atCommit.Store(sent.Load()); return nil })
			s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				protected.ServeHTTP(written{w, &sent}, r)
			}))
			a := s.post("/", fmt.Sprint(i), "")
			require.Equal(t, http.StatusAccepted, a.status)
			require.Len(t, a.body, c.size)
			require.Equal(t, c.first, atCommit.Load() > 0, "%+v", c)
			again := s.post("/", fmt.Sprint(i), "")
			if c.size > 10 {
				require.Equal(t, semelhttp.CodeResultNotRetained, again.code(t))
			} else {
				require.True(t, again.replayed())
				require.Equal(t, a.body, again.body)
			}
		}
	})
}

// Somebody who holds a claim on the request must not record that we refused it.
func TestRefusalIsNoOutcomeOfAnOuterClaim(t *testing.T) {
	t.Parallel()
	inner := &faulty{Store: inMemory(t).store}
	var calls counter
	handler := semelhttp.Idempotency(env{store: inner}.guard(t, idempotency.Options{}), semelhttp.SharedScope(), semelhttp.IdempotencyOptions{})(
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.next() }))
	outer := semelhttp.Idempotency(inMemory(t).guard(t, idempotency.Options{}), semelhttp.SharedScope(),
		semelhttp.IdempotencyOptions{Store: semelhttp.StripeStatuses})
	s := serve(t, outer(handler))
	inner.onBegin.set(broken)
	requireUnavailable(t, s.post("/", "k", ""))
	inner.onBegin.clear()
	a := s.post("/", "k", "")
	require.Equal(t, http.StatusOK, a.status)
	require.False(t, a.replayed())
	require.Equal(t, 1, calls.total())
}

// The claim of somebody before us is not ours to steer, nor to read, if we have
// none of our own.
func TestRunWithoutAClaimLeavesAnOuterOneAlone(t *testing.T) {
	t.Parallel()
	store := &faulty{Store: inMemory(t).store}
	store.onBegin.set(broken)
	h := semelhttp.Idempotency(env{store: store}.guard(t, idempotency.Options{}), semelhttp.SharedScope(),
		semelhttp.IdempotencyOptions{FailOpen: true})(http.HandlerFunc(tellPath))
	_, err := inMemory(t).guard(t, idempotency.Options{}).Run(t.Context(), idempotency.Key{Scope: "outer", ID: "1"}, idempotency.RunOptions{},
		func(ctx context.Context) (idempotency.Result, error) {
			claim, _ := idempotency.ClaimFrom(ctx)
			claim.Permanent(errBroken)
			r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil)
			r.Header.Set("Idempotency-Key", "k")
			h.ServeHTTP(httptest.NewRecorder(), r)
			end, _ := claim.Steered()
			require.Equal(t, idempotency.EndPermanent, end)
			return idempotency.Result{}, nil
		})
	require.NoError(t, err)
}

func TestEventsDoNotTellTheKey(t *testing.T) {
	t.Parallel()
	_, s, seen, _ := inMemory(t).broke(t, semelhttp.IdempotencyOptions{})
	for range 2 {
		s.post("/", "sk_live_123", "")
	}
	s.post("/", "sk_live_123", "x")
	for _, kind := range []observe.Kind{observe.Acquired, observe.Executed, observe.Replayed, observe.Mismatch} {
		require.Equal(t, 1, seen.count(kind), kind)
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	require.NotContains(t, fmt.Sprint(seen.seen), "sk_live")
}
