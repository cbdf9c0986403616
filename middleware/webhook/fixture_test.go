package webhook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/memstore"
	"github.com/semel-go/semel/idempotency/redisstore"
	"github.com/semel-go/semel/internal/leaktest"
	"github.com/semel-go/semel/internal/redistest"
	"github.com/semel-go/semel/middleware/webhook"
	"github.com/semel-go/semel/observe"
)

func TestMain(m *testing.M) {
	os.Exit(leaktest.Main(m, "semel/middleware/webhook", "semel/idempotency", "internal/keeper"))
}

// maker is a provider of our own: its deliveries say in a header that they are
// genuine, and hold one event or a list of them.
type maker struct {
	policy   webhook.Policy
	bindings []webhook.Binding
}

type madeEvent struct {
	ID       string `json:"id"`
	Tenant   string `json:"tenant,omitempty"`
	Resource string `json:"resource,omitempty"`
	Note     string `json:"note,omitempty"`
}

func (maker) Provider() string         { return "maker" }
func (m maker) Policy() webhook.Policy { return m.policy }

func (m maker) Verify(_ context.Context, h http.Header, body []byte) (webhook.Delivery, error) {
	switch h.Get("Maker-Signature") {
	case "":
		return webhook.Delivery{}, webhook.Refuse(webhook.MissingHeader, nil)
	case "down":
		return webhook.Delivery{}, webhook.ErrUnavailable
	case "challenge":
		return webhook.Delivery{Passthrough: true}, nil
	case "nothing":
		return webhook.Delivery{}, nil
	case signature(body):
	default:
		return webhook.Delivery{}, webhook.Refuse(webhook.NoMatch, nil)
	}
	var raws []json.RawMessage
	if bytes.HasPrefix(body, []byte("[")) {
		if err := json.Unmarshal(body, &raws); err != nil {
			return webhook.Delivery{}, webhook.Refuse(webhook.Malformed, err)
		}
	} else {
		raws = append(raws, body)
	}
	d := webhook.Delivery{Bindings: m.bindings}
	for _, raw := range raws {
		var e madeEvent
		if err := json.Unmarshal(raw, &e); err != nil {
			return webhook.Delivery{}, webhook.Refuse(webhook.Malformed, err)
		}
		d.Events = append(d.Events, webhook.Event{ID: e.ID, Tenant: e.Tenant, Resource: e.Resource, Type: "made", Body: raw})
	}
	return d, nil
}

// signature is what maker signs a body with.
func signature(body []byte) string {
	sum := idempotency.FingerprintOf([]byte("maker"), body)
	return string(bytes.ToUpper([]byte(idempotency.Digest(sum).String()))) // any text that only body makes
}

// env is a guard on one store.
type env struct {
	guard *idempotency.Guard
	// lose makes the store unavailable.
	lose func()
}

// eachStore runs test on a store in memory and on Redis.
func eachStore(t *testing.T, o idempotency.Options, test func(t *testing.T, e env)) {
	t.Helper()
	t.Parallel()
	t.Run("memstore", func(t *testing.T) {
		t.Parallel()
		test(t, inMemory(t, o))
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t)
		rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
		t.Cleanup(func() { require.NoError(t, rdb.Close()) })
		store, err := redisstore.New(rdb, redisstore.Options{})
		require.NoError(t, err)
		test(t, env{guard: guardOn(t, store, o), lose: server.Kill})
	})
}

// inMemory returns a guard on a store in memory.
func inMemory(t *testing.T, o idempotency.Options) env {
	t.Helper()
	store, err := memstore.New(memstore.Options{})
	require.NoError(t, err)
	e := env{guard: guardOn(t, store, o), lose: func() { require.NoError(t, store.Close()) }}
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return e
}

func guardOn(t *testing.T, store idempotency.Store, o idempotency.Options) *idempotency.Guard {
	t.Helper()
	guard, err := idempotency.New(store, o)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(t, guard.Close(ctx))
	})
	return guard
}

// keys returns how many keys the store has.
func (e env) keys(t *testing.T) int {
	t.Helper()
	operator, err := e.guard.Operator()
	require.NoError(t, err)
	n := 0
	for _, err := range operator.List(t.Context(), idempotency.ListOptions{}) {
		require.NoError(t, err)
		n++
	}
	return n
}

// site is an endpoint on a real listener.
type site struct {
	*httptest.Server
	path   string
	events *events
}

// serve serves h behind Once.
func (e env) serve(t *testing.T, m maker, o webhook.Options, h http.Handler) site {
	t.Helper()
	s := site{events: &events{}}
	o.Observer = s.events
	s.Server = httptest.NewServer(webhook.Once(e.guard, "billing", m, o)(h))
	t.Cleanup(s.Close)
	return s
}

// reply is an answer.
type reply struct {
	status int
	header http.Header
	body   string
}

func (r reply) replayed() bool { return r.header.Get("Idempotent-Replayed") == "true" }

// deliver sends body, signed.
func (s site) deliver(t *testing.T, body string) reply {
	t.Helper()
	return s.send(t, body, signature([]byte(body)))
}

// send sends body with a signature.
func (s site) send(t *testing.T, body, sig string) reply {
	t.Helper()
	r, err := s.trySend(t.Context(), body, sig)
	require.NoError(t, err)
	return r
}

func (s site) trySend(ctx context.Context, body, sig string) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+s.path, bytes.NewReader([]byte(body)))
	if err != nil {
		return reply{}, err
	}
	if sig != "" {
		req.Header.Set("Maker-Signature", sig)
	}
	res, err := s.Client().Do(req)
	if err != nil {
		return reply{}, err
	}
	got, err := io.ReadAll(res.Body)
	return reply{res.StatusCode, res.Header, string(got)}, errors.Join(err, res.Body.Close())
}

// events is an Observer that remembers.
type events struct {
	mu  sync.Mutex
	all []observe.Event
}

func (e *events) Observe(_ context.Context, ev observe.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, ev)
}

// of returns the events of a kind.
func (e *events) of(kind observe.Kind) []observe.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	var some []observe.Event
	for _, ev := range e.all {
		if ev.Kind == kind {
			some = append(some, ev)
		}
	}
	return some
}
