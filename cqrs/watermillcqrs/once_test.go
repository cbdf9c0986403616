package watermillcqrs_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	wmcqrs "github.com/ThreeDotsLabs/watermill/components/cqrs"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"
	"github.com/stretchr/testify/require"

	semelcqrs "github.com/semel-go/semel/cqrs"
	"github.com/semel-go/semel/cqrs/watermillcqrs"
	"github.com/semel-go/semel/idempotency"
)

// TestOnceErrorPanicSuccess sends a command five times to a handler that fails,
// panics, and succeeds: it runs three times, and every message is acknowledged.
func TestOnceErrorPanicSuccess(t *testing.T) {
	t.Parallel()
	once, err := watermillcqrs.New(newGuard(t), watermillcqrs.For("order.create.v1", createOptions()))
	require.NoError(t, err)
	var runs atomic.Int32
	onHandle, acked := counts(once.OnCommand(nil))
	s := newService(t)
	s.router.AddMiddleware(watermillcqrs.Delay(watermillcqrs.DelayOptions{Min: time.Millisecond, Max: time.Millisecond}), middleware.Recoverer)
	s.commands(onHandle, wmcqrs.NewCommandHandler("create", func(context.Context, *CreateOrder) error {
		switch runs.Add(1) {
		case 1:
			return errFails
		case 2:
			panic("the handler panics")
		}
		return nil
	}))
	s.run()
	s.send(CreateOrder{RequestID: "r1", Customer: "c1"}, 5)
	eventually(t, 5, acked, "messages acknowledged")
	require.EqualValues(t, 3, runs.Load())

	s.send(CreateOrder{RequestID: "r2", Customer: "c1"}, 1)
	eventually(t, 6, acked, "messages acknowledged")
	require.EqualValues(t, 4, runs.Load(), "another command runs")
}

// TestOnceConcurrentDuplicates shows that a duplicate of a command that is under
// way is neither run nor acknowledged, until the first has succeeded.
func TestOnceConcurrentDuplicates(t *testing.T) {
	t.Parallel()
	once, err := watermillcqrs.New(newGuard(t), watermillcqrs.For("order.create.v1", createOptions()))
	require.NoError(t, err)
	const copies = 8
	var runs, refused atomic.Int32
	enough := make(chan struct{})
	inner := once.OnCommand(nil)
	onHandle, acked := counts(func(p wmcqrs.CommandProcessorOnHandleParams) error {
		err := inner(p)
		if errors.Is(err, idempotency.ErrInProgress) && refused.Add(1) == 3*copies {
			close(enough)
		}
		return err
	})
	s := newService(t)
	s.router.AddMiddleware(watermillcqrs.Delay(watermillcqrs.DelayOptions{Min: time.Millisecond, Max: time.Millisecond}))
	s.commands(onHandle, wmcqrs.NewCommandHandler("create", func(context.Context, *CreateOrder) error {
		runs.Add(1)
		<-enough
		return nil
	}))
	s.run()
	s.send(CreateOrder{RequestID: "r1"}, copies)
	<-enough
	eventually(t, copies, acked, "messages acknowledged")
	require.EqualValues(t, 1, runs.Load())
}

func TestOnceHandsOnTheClaim(t *testing.T) {
	t.Parallel()
	nexts := 0
	handler := wmcqrs.NewCommandHandler("create", func(ctx context.Context, c *CreateOrder) error {
		claim, ok := idempotency.ClaimFrom(ctx)
		require.True(t, ok)
		require.NotZero(t, claim.Fence())
		require.Equal(t, "c1", c.Customer)
		return nil
	})
	once, err := watermillcqrs.New(newGuard(t), watermillcqrs.For("order.create.v1", createOptions()))
	require.NoError(t, err)
	onHandle := once.OnCommand(func(p wmcqrs.CommandProcessorOnHandleParams) error {
		nexts++
		return p.Handler.Handle(p.Message.Context(), p.Command)
	})
	p := wmcqrs.CommandProcessorOnHandleParams{
		Handler: handler, CommandName: "CreateOrder",
		Command: &CreateOrder{RequestID: "r1", Customer: "c1"}, Message: newMessage("", "", ""),
	}
	outer := p.Message.Context()
	require.NoError(t, onHandle(p))
	require.NoError(t, onHandle(p))
	require.Equal(t, 1, nexts, "next is called only if the command runs")
	require.Equal(t, outer, p.Message.Context())
}

// TestOnceGivesBackTheContext shows that each attempt of Retry, which are made
// with one Message, starts with a context that has not ended, and that a panic
// does not leave one that has.
func TestOnceGivesBackTheContext(t *testing.T) {
	t.Parallel()
	once, err := watermillcqrs.New(newGuard(t), watermillcqrs.For("order.create.v1", createOptions()))
	require.NoError(t, err)
	runs := 0
	handler := wmcqrs.NewCommandHandler("create", func(ctx context.Context, _ *CreateOrder) error {
		require.NoError(t, ctx.Err())
		if runs++; runs == 2 {
			panic("the handler panics")
		}
		if runs < 4 {
			return errFails
		}
		return nil
	})
	h := middleware.Recoverer(func(msg *message.Message) ([]*message.Message, error) {
		return nil, once.OnCommand(nil)(wmcqrs.CommandProcessorOnHandleParams{
			Handler: handler, Command: &CreateOrder{RequestID: "r1"}, Message: msg,
		})
	})
	retry := middleware.Retry{MaxRetries: 5, ShouldRetry: func(p middleware.RetryParams) bool { return watermillcqrs.ShouldRetry(p.Err) }}
	_, err = retry.Middleware(h)(newMessage("", "", ""))
	require.NoError(t, err)
	require.Equal(t, 4, runs)
}

func TestOnceRefusesWhatIsNotRegistered(t *testing.T) {
	t.Parallel()
	once, err := watermillcqrs.New(newGuard(t), watermillcqrs.For("order.create.v1", createOptions()), watermillcqrs.Unprotected[OrderPlaced]())
	require.NoError(t, err)
	runs := 0
	call := func(cmd any) error {
		return once.OnCommand(func(wmcqrs.CommandProcessorOnHandleParams) error { runs++; return nil })(
			wmcqrs.CommandProcessorOnHandleParams{Command: cmd, CommandName: "told", Message: newMessage("", "", "")})
	}
	err = call(&CancelOrder{RequestID: "r1"})
	require.ErrorIs(t, err, semelcqrs.ErrNotRegistered)
	require.ErrorContains(t, err, `CancelOrder, called "told"`)
	require.True(t, watermillcqrs.ShouldPoison(err), "a person must see it")
	require.Zero(t, runs)

	require.NoError(t, call(&OrderPlaced{ID: "1"}))
	require.NoError(t, call(&OrderPlaced{ID: "1"}))
	require.Equal(t, 2, runs, "Unprotected runs as often as it is delivered")

	require.ErrorIs(t, call((*CreateOrder)(nil)), semelcqrs.ErrCommand)
	require.ErrorIs(t, call(&CreateOrder{}), semelcqrs.ErrNoKey)
	require.Equal(t, 2, runs)
}

func TestOnceFinalDoesNotRunAgain(t *testing.T) {
	t.Parallel()
	once, err := watermillcqrs.New(newGuard(t), watermillcqrs.For("order.create.v1", createOptions()))
	require.NoError(t, err)
	runs := 0
	call := func() error {
		return once.OnCommand(func(wmcqrs.CommandProcessorOnHandleParams) error { runs++; return idempotency.Final(errFails) })(
			wmcqrs.CommandProcessorOnHandleParams{Command: &CreateOrder{RequestID: "r1"}, Message: newMessage("", "", "")})
	}
	first, second := call(), call()
	require.Equal(t, 1, runs)
	for _, err := range []error{first, second} {
		require.ErrorContains(t, err, errFails.Error())
		require.True(t, watermillcqrs.ShouldPoison(err))
		require.False(t, watermillcqrs.ShouldRetry(err))
	}
	var replayed *semelcqrs.ReplayedError
	require.ErrorAs(t, second, &replayed)
}

// TestOncePointerAndValue shows that a registration by pointer is the same
// command, so that one may become the other.
func TestOncePointerAndValue(t *testing.T) {
	t.Parallel()
	guard := newGuard(t)
	runs := 0
	call := func(r watermillcqrs.Registration) {
		once, err := watermillcqrs.New(guard, r)
		require.NoError(t, err)
		require.NoError(t, once.OnCommand(func(wmcqrs.CommandProcessorOnHandleParams) error { runs++; return nil })(
			wmcqrs.CommandProcessorOnHandleParams{Command: &CreateOrder{RequestID: "r1", Customer: "c"}, Message: newMessage("", "", "")}))
	}
	call(watermillcqrs.For("order.create.v1", createOptions()))
	call(watermillcqrs.For("order.create.v1", semelcqrs.Options[*CreateOrder]{Key: func(c *CreateOrder) string { return c.RequestID }}))
	require.Equal(t, 1, runs)
	call(watermillcqrs.For("order.create.v2", createOptions()))
	require.Equal(t, 2, runs, "another name is another command")
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	type unhashable struct{ C chan int }
	create := watermillcqrs.For("order.create.v1", createOptions())
	rejecting := createOptions()
	rejecting.OnDuplicate = semelcqrs.Reject
	for name, rs := range map[string][]watermillcqrs.Registration{
		"type that cannot be hashed": {watermillcqrs.For("x", semelcqrs.Options[unhashable]{Window: time.Hour})},
		"neither key nor window":     {watermillcqrs.For("x", semelcqrs.Options[CreateOrder]{})},
		"no name":                    {watermillcqrs.For("", createOptions())},
		"type twice":                 {create, watermillcqrs.For("order.create.v2", createOptions())},
		"type twice, unprotected":    {create, watermillcqrs.Unprotected[*CreateOrder]()},
		"name twice":                 {create, watermillcqrs.For("order.create.v1", placedOptions())},
		"name twice, at handlers":    {watermillcqrs.ForHandler("a", "x", placedOptions()), watermillcqrs.ForHandler("b", "x", placedOptions())},
		"duplicates are errors":      {watermillcqrs.For("x", rejecting)},
		"handler without a name":     {watermillcqrs.ForHandler("", "x", placedOptions())},
		"unprotected without a name": {watermillcqrs.UnprotectedAt[OrderPlaced]("")},
		"empty":                      {{}},
		"options that do not fit":    {watermillcqrs.For("x", semelcqrs.Options[CreateOrder]{Window: time.Hour, Lease: 2 * time.Hour})},
	} {
		_, err := watermillcqrs.New(newGuard(t), rs...)
		require.ErrorIs(t, err, semelcqrs.ErrInvalid, name)
	}
	_, err := watermillcqrs.New(nil)
	require.ErrorIs(t, err, semelcqrs.ErrInvalid)
}

// TestKeyFrom takes a command's key from its message, whatever its UUID is.
func TestKeyFrom(t *testing.T) {
	t.Parallel()
	once, err := watermillcqrs.New(newGuard(t), watermillcqrs.For("order.create.v1", semelcqrs.Options[CreateOrder]{
		KeyFrom: watermillcqrs.KeyFrom[CreateOrder](watermillcqrs.MetadataKey("key")),
	}))
	require.NoError(t, err)
	var runs atomic.Int32
	onHandle, acked := counts(once.OnCommand(nil))
	s := newService(t)
	s.router.AddMiddleware(watermillcqrs.Delay(watermillcqrs.DelayOptions{Min: time.Millisecond, Max: time.Millisecond}))
	s.commands(onHandle, wmcqrs.NewCommandHandler("create", func(context.Context, *CreateOrder) error {
		runs.Add(1)
		return nil
	}))
	s.run()
	bus := s.bus()
	for _, key := range []string{"k1", "k2", "k1"} {
		require.NoError(t, bus.SendWithModifiedMessage(t.Context(), CreateOrder{}, func(m *message.Message) error {
			m.Metadata.Set("key", key)
			return nil
		}))
	}
	eventually(t, 3, acked, "messages acknowledged")
	require.EqualValues(t, 2, runs.Load())

	err = once.OnCommand(nil)(wmcqrs.CommandProcessorOnHandleParams{Command: &CreateOrder{}, Message: newMessage("u", "k3", "")})
	require.ErrorIs(t, err, semelcqrs.ErrNoKey, "no processor, no message in the context")
}
