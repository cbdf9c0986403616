package cqrs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/cqrs"
	"github.com/semel-go/semel/idempotency"
)

// Named is a command that knows its key.
type Named struct {
	ID string `semel:"-"`
}

func (n *Named) IdempotencyKey() (string, bool) { return n.ID, n.ID != "none" }

// nothing is a handler.
func nothing[C any](context.Context, C) (struct{}, error) { return struct{}{}, nil }

// keyOf returns the key of cmd under o.
func keyOf[C any](t *testing.T, ctx context.Context, o cqrs.Options[C], cmd C) (idempotency.Key, error) {
	t.Helper()
	e, err := cqrs.NewExecutor(newGuard(t, idempotency.Options{}), "named.v1", nothing[C], o)
	require.NoError(t, err)
	return e.Key(ctx, cmd)
}

// TestPrecedence: the option, the method, the context, the hash; and a key that
// is there and empty never falls through.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	var (
		bare   = t.Context()
		with   = cqrs.WithKey(t.Context(), "context")
		window = cqrs.Options[Named]{Window: time.Hour}
		option = cqrs.Options[Named]{Key: func(Named) string { return "option" }, Window: time.Hour}
		from   = cqrs.Options[Named]{KeyFrom: func(ctx context.Context, n Named) (string, error) { return "from " + n.ID, ctx.Err() }}
		hash   = "hash"
	)
	for name, c := range map[string]struct {
		ctx  context.Context
		o    cqrs.Options[Named]
		cmd  Named
		want string // "": ErrNoKey
	}{
		"option first":        {with, option, Named{"method"}, "option"},
		"from is an option":   {with, from, Named{"method"}, "from method"},
		"method second":       {with, window, Named{"method"}, "method"},
		"context third":       {with, window, Named{"none"}, "context"},
		"hash last":           {bare, window, Named{"none"}, hash},
		"method and no more":  {bare, cqrs.Options[Named]{}, Named{"none"}, ""},
		"method, no window":   {bare, cqrs.Options[Named]{}, Named{"m"}, "m"},
		"key required":        {bare, cqrs.Options[Named]{KeyRequired: true, Window: time.Hour}, Named{"none"}, ""},
		"key required, given": {with, cqrs.Options[Named]{KeyRequired: true}, Named{"none"}, "context"},
		"empty option":        {with, cqrs.Options[Named]{Key: func(Named) string { return "" }, Window: time.Hour}, Named{"m"}, ""},
		"empty method":        {with, window, Named{""}, ""},
		"empty context":       {cqrs.WithKey(bare, ""), window, Named{"none"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key, err := keyOf(t, c.ctx, c.o, c.cmd)
			switch c.want {
			case "":
				require.ErrorIs(t, err, cqrs.ErrNoKey)
			case hash:
				require.NoError(t, err)
				require.Regexp(t, `^[A-Za-z0-9_-]{43}$`, key.ID)
				require.Equal(t, idempotency.Scope("command hash", "named.v1", ""), key.Scope)
			default:
				require.NoError(t, err)
				require.Equal(t, idempotency.Key{Scope: idempotency.Scope("command", "named.v1", ""), ID: c.want}, key)
			}
		})
	}
}

// TestKeysApart: an explicit key never meets a hash, and names, tenants and keys
// are delimited.
func TestKeysApart(t *testing.T) {
	t.Parallel()
	seen := map[idempotency.Digest]string{}
	add := func(name, tenant, key string) {
		o := cqrs.Options[Order]{Window: time.Hour}
		if key != "" {
			o.Key = func(Order) string { return key }
		}
		if tenant != "" {
			o.Scope = func(context.Context, Order) (string, error) { return tenant, nil }
		}
		e, err := cqrs.NewExecutor(newGuard(t, idempotency.Options{}), name, nothing[Order], o)
		require.NoError(t, err)
		k, err := e.Key(t.Context(), Order{Customer: "c"})
		require.NoError(t, err)
		d, err := k.Digest()
		require.NoError(t, err)
		what := name + "|" + tenant + "|" + key
		require.NotContains(t, seen, d, what)
		seen[d] = what
		if key == "" { // its text, as somebody's key
			o.Key = func(Order) string { return k.ID }
			e, err := cqrs.NewExecutor(newGuard(t, idempotency.Options{}), name, nothing[Order], o)
			require.NoError(t, err)
			forged, err := e.Key(t.Context(), Order{Customer: "c"})
			require.NoError(t, err)
			forgedDigest, err := forged.Digest()
			require.NoError(t, err)
			require.NotEqual(t, d, forgedDigest)
		}
	}
	add("a", "", "")
	add("b", "", "")
	add("a", "t", "")
	add("a", "u", "")
	add("a", "", "k")
	add("a", "t", "k")
	add("at", "", "k")
	add("a", "tk", "k")
	add("a", "t", "kk")
}

// TestTenants: two tenants with one key run twice; nobody's command does not run.
func TestTenants(t *testing.T) {
	t.Parallel()
	type tenant struct{}
	errTenant := errors.New("who are you")
	s := &shop{}
	o := byRequest()
	o.Scope = func(ctx context.Context, _ Order) (string, error) {
		who, ok := ctx.Value(tenant{}).(string)
		if !ok {
			return "", errTenant
		}
		return who, nil
	}
	order := s.wrap(t, newGuard(t, idempotency.Options{}), o)
	for _, who := range []string{"a", "b", "a"} {
		_, err := order(context.WithValue(t.Context(), tenant{}, who), Order{Request: "r"})
		require.NoError(t, err)
	}
	require.EqualValues(t, 2, s.runs.Load())
	_, err := order(t.Context(), Order{Request: "r"})
	require.ErrorIs(t, err, errTenant)
	_, err = order(context.WithValue(t.Context(), tenant{}, ""), Order{Request: "r"})
	require.ErrorIs(t, err, cqrs.ErrNoScope)
	require.EqualValues(t, 2, s.runs.Load())
}

// TestWithKeyHoldsForOneCall: a handler that sends two commands under the
// sender's key runs both.
func TestWithKeyHoldsForOneCall(t *testing.T) {
	t.Parallel()
	type Step struct{ N int }
	guard := newGuard(t, idempotency.Options{})
	var steps []int
	step, err := cqrs.Wrap(guard, "step.v1", func(_ context.Context, s Step) (int, error) {
		steps = append(steps, s.N)
		return s.N, nil
	}, cqrs.Options[Step]{Window: time.Hour})
	require.NoError(t, err)
	s := &shop{before: func(ctx context.Context, _ int64, _ Order) error {
		for n := range 2 {
			if _, err := step(ctx, Step{n}); err != nil {
				return err
			}
		}
		return nil
	}}
	order := s.wrap(t, guard, cqrs.Options[Order]{KeyRequired: true})
	for range 2 {
		_, err = order(cqrs.WithKey(t.Context(), "k"), Order{})
		require.NoError(t, err)
	}
	require.Equal(t, []int{0, 1}, steps)
	require.EqualValues(t, 1, s.runs.Load())
	_, err = order(t.Context(), Order{})
	require.ErrorIs(t, err, cqrs.ErrNoKey)
}

// TestWithKeyIsNotForMiddlewares: nor do the commands have it that are sent by
// what is around the one that it was given to; and that one has it whatever
// context it is passed on with, unless a middleware says another.
func TestWithKeyIsNotForMiddlewares(t *testing.T) {
	t.Parallel()
	bus := newBus(t, cqrs.BusOptions{Scope: func(ctx context.Context) (string, error) {
		_, err := keyOf(t, ctx, cqrs.Options[Cancel]{KeyRequired: true}, Cancel{})
		require.ErrorIs(t, err, cqrs.ErrNoKey, "in Scope")
		return "tenant", nil
	}})
	bus.Use(func(next cqrs.BusHandler) cqrs.BusHandler {
		return func(ctx context.Context, i *cqrs.Invocation) error {
			_, err := keyOf(t, ctx, cqrs.Options[Cancel]{KeyRequired: true}, Cancel{})
			require.ErrorIs(t, err, cqrs.ErrNoKey, "in a middleware")
			if i.Command().(Order).Request == "other" {
				ctx = cqrs.WithKey(ctx, "a middleware's")
			}
			return next(ctx, i)
		}
	})
	s := &shop{}
	require.NoError(t, cqrs.Register(bus, "order.v1", s.order, cqrs.Options[Order]{KeyRequired: true}))
	for request, want := range map[string]string{"own": "k", "other": "a middleware's"} {
		out, err := cqrs.Do(cqrs.WithKey(t.Context(), "k"), bus, Order{Request: request})
		require.NoError(t, err)
		require.Equal(t, want, out.Key.ID)
	}
}

// TestRequestKey: a request that failed half way and is sent again does not
// repeat the command that had completed.
func TestRequestKey(t *testing.T) {
	t.Parallel()
	guard := newGuard(t, idempotency.Options{})
	s := &shop{}
	order := s.wrap(t, guard, cqrs.Options[Order]{KeyFrom: cqrs.RequestKey[Order]})
	request := func(id string, end error) error { // as middleware or webhook.Once do
		_, err := guard.Run(t.Context(), idempotency.Key{Scope: "http", ID: id}, idempotency.RunOptions{}, func(ctx context.Context) (idempotency.Result, error) {
			if _, err := order(ctx, Order{Customer: "c"}); err != nil {
				return idempotency.Result{}, err
			}
			return idempotency.Result{}, end
		})
		return err
	}
	require.ErrorIs(t, request("1", errShop), errShop)
	require.NoError(t, request("1", nil))
	require.EqualValues(t, 1, s.runs.Load())
	require.NoError(t, request("2", nil))
	require.EqualValues(t, 2, s.runs.Load(), "another request, another command")
	_, err := order(t.Context(), Order{})
	require.ErrorIs(t, err, cqrs.ErrNoKey)
}

// TestContent: what stands for the content tells commands apart.
func TestContent(t *testing.T) {
	t.Parallel()
	type Opaque struct{ V any }
	o := cqrs.Options[Opaque]{Window: time.Hour}
	_, err := cqrs.Wrap(newGuard(t, idempotency.Options{}), "opaque.v1", nothing[Opaque], o)
	require.ErrorIs(t, err, cqrs.ErrInvalid, "an interface has no hash")
	o.Content = func(c Opaque) ([]byte, error) {
		s, ok := c.V.(string)
		if !ok {
			return nil, errShop
		}
		return []byte(s), nil
	}
	a, err := keyOf(t, t.Context(), o, Opaque{"a"})
	require.NoError(t, err)
	again, err := keyOf(t, t.Context(), o, Opaque{"a"})
	require.NoError(t, err)
	b, err := keyOf(t, t.Context(), o, Opaque{"b"})
	require.NoError(t, err)
	require.Equal(t, a, again)
	require.NotEqual(t, a, b)
	_, err = keyOf(t, t.Context(), o, Opaque{1})
	require.ErrorIs(t, err, errShop)
	require.ErrorIs(t, err, cqrs.ErrCommand)
}

// TestSecret: keys under a secret are others.
func TestSecret(t *testing.T) {
	t.Parallel()
	keys := map[idempotency.Key]bool{}
	for _, secret := range [][]byte{nil, []byte("0123456789abcdef"), []byte("0123456789abcdeF")} {
		k, err := keyOf(t, t.Context(), cqrs.Options[Order]{Window: time.Hour, Secret: secret}, Order{})
		require.NoError(t, err)
		keys[k] = true
	}
	require.Len(t, keys, 3)
}

// TestInvalid: what does not do is told when the handler is wrapped, by name.
func TestInvalid(t *testing.T) {
	t.Parallel()
	guard := newGuard(t, idempotency.Options{})
	key := func(Order) string { return "k" }
	for name, c := range map[string]struct {
		o     cqrs.Options[Order]
		names string
	}{
		"no key, no window": {cqrs.Options[Order]{}, "Options.Window"},
		"two keys": {cqrs.Options[Order]{Key: key, KeyFrom: func(context.Context, Order) (string, error) { return "", nil }},
			"Options.KeyFrom"},
		"negative window":    {cqrs.Options[Order]{Key: key, Window: -1}, "Options.Window"},
		"window below lease": {cqrs.Options[Order]{Key: key, Window: time.Second}, "Retention"},
		"lease":              {cqrs.Options[Order]{Key: key, Lease: time.Nanosecond}, "Lease"},
		"policy":             {cqrs.Options[Order]{Key: key, OnDuplicate: 7}, "Options.OnDuplicate"},
		"secret":             {cqrs.Options[Order]{Key: key, Secret: []byte("short")}, "Secret"},
		"secret is not set":  {cqrs.Options[Order]{Key: key, Secret: []byte{}}, "Secret"},
		"secret and content": {cqrs.Options[Order]{Key: key, Secret: make([]byte, 16), Content: func(Order) ([]byte, error) { return nil, nil }}, "Options.Content"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := cqrs.Wrap(guard, "order.v1", (&shop{}).order, c.o)
			require.ErrorIs(t, err, cqrs.ErrInvalid)
			require.ErrorContains(t, err, c.names)
			require.ErrorContains(t, err, "order.v1")
		})
	}
	o := cqrs.Options[Order]{Key: key}
	_, err := cqrs.Wrap(nil, "order.v1", (&shop{}).order, o)
	require.ErrorIs(t, err, cqrs.ErrInvalid)
	_, err = cqrs.Wrap(guard, "", (&shop{}).order, o)
	require.ErrorIs(t, err, cqrs.ErrInvalid)
	_, err = cqrs.Wrap[Order, Receipt](guard, "order.v1", nil, o)
	require.ErrorIs(t, err, cqrs.ErrInvalid)
	_, err = cqrs.Wrap(guard, "any.v1", func(context.Context, Order) (any, error) { return 1, nil }, o)
	require.ErrorIs(t, err, cqrs.ErrInvalid, "an interface does not survive a replay")
	require.ErrorContains(t, err, "interface")
	_, err = cqrs.WrapAs(guard, "order.v1", nil, (&shop{}).order, o)
	require.ErrorIs(t, err, cqrs.ErrInvalid)
}
