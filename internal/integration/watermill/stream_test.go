package watermill_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill-redisstream/pkg/redisstream"
	wmcqrs "github.com/ThreeDotsLabs/watermill/components/cqrs"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	semelcqrs "github.com/semel-go/semel/cqrs"
	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/internal/redistest"
)

// TestFailureIsDeliveredAgain sends a command five times, to two consumers of
// one group, whose handler fails twice, panics, and succeeds.
func TestFailureIsDeliveredAgain(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var runs atomic.Int32
	handle := func(context.Context, *CreateOrder) error {
		switch runs.Add(1) {
		case 1, 2:
			return errors.New("the handler fails")
		case 3:
			panic("the handler panics")
		}
		return nil
	}
	a, b := start(t, server, "a", handle), start(t, server, "b", handle)
	send(t, server, 5)
	settled(t, server, 5)
	require.EqualValues(t, 4, runs.Load())
	require.GreaterOrEqual(t, a.acked.Load()+b.acked.Load(), int32(5))

	send(t, server, 2)
	settled(t, server, 7)
	require.EqualValues(t, 4, runs.Load(), "duplicates are acknowledged, and do not run")
}

// TestSlowHandlerIsOvertaken has a handler take longer than the lease and much
// longer than the stream waits: its message is given to the other consumer, which
// is refused for as long as the handler runs.
func TestSlowHandlerIsOvertaken(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var runs atomic.Int32
	began := make(chan struct{})
	finish := make(chan struct{})
	handle := func(ctx context.Context, _ *CreateOrder) error {
		if runs.Add(1) == 1 {
			close(began)
		}
		select {
		case <-finish:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	a := start(t, server, "a", handle)
	send(t, server, 1)
	<-began
	b := start(t, server, "b", handle)
	past := time.Now().Add(2 * lease)
	require.Eventually(t, func() bool { return b.refused.Load() >= 10 && time.Now().After(past) }, patience, time.Millisecond)
	require.EqualValues(t, 1, runs.Load())
	require.Zero(t, a.acked.Load()+b.acked.Load(), "it may yet fail")
	close(finish)
	settled(t, server, 1)
	require.Eventually(t, func() bool { return b.acked.Load() > 0 }, patience, time.Millisecond, "its copy is a duplicate now")
	require.EqualValues(t, 1, runs.Load())
}

// TestKilledConsumer kills a process in its handler. Another consumer has the
// message at once, and runs the command when the lease is over, and not before.
func TestKilledConsumer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0])
	child.Env = append(os.Environ(), roleEnv+"=victim", "VICTIM_REDIS="+server.Addr())
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	t.Cleanup(func() { _ = child.Process.Kill() })
	send(t, server, 1)
	var firstFence uint64
	_, err = fmt.Fscanln(out, &firstFence) // the handler runs
	require.NoError(t, err)

	var runs atomic.Int32
	ran := make(chan run, 1)
	heir := start(t, server, "heir", func(ctx context.Context, _ *CreateOrder) error {
		runs.Add(1)
		claim, ok := idempotency.ClaimFrom(ctx)
		if !ok {
			return errors.New("no claim")
		}
		ran <- run{time.Now(), claim.Fence()}
		return nil
	})
	past := time.Now().Add(lease + lease/2)
	require.Eventually(t, func() bool { return heir.refused.Load() >= 5 && time.Now().After(past) }, patience, time.Millisecond,
		"the message is the heir's, and the command is the victim's for as long as it lives")
	require.Zero(t, runs.Load())

	require.NoError(t, child.Process.Kill())
	rest, err := io.ReadAll(out)
	require.NoError(t, err)
	require.Empty(t, rest)
	require.Error(t, child.Wait())
	require.Equal(t, -1, child.ProcessState.ExitCode(), "it was killed")

	// Nobody renews the claim any more: what is left of it is when it ends.
	looked := time.Now()
	info := look(t, heir)
	require.Equal(t, idempotency.StateClaimed, info.State)
	require.Zero(t, runs.Load())
	earliest := looked.Add(info.Remaining - 2*time.Millisecond) // the server counts in milliseconds

	next := <-ran
	require.False(t, next.at.Before(earliest), "it ran %v before the lease was over", earliest.Sub(next.at))
	require.Greater(t, next.fence, firstFence)
	send(t, server, 2)
	settled(t, server, 3)
	require.EqualValues(t, 1, runs.Load(), "runs after the one that was killed")
}

// run is when a handler ran, and with which fence.
type run struct {
	at    time.Time
	fence uint64
}

// victim is a process that is killed while its handler runs. The handler says
// that it does.
func victim() {
	_, err := startConsumer(os.Getenv("VICTIM_REDIS"), "victim", func(ctx context.Context, _ *CreateOrder) error {
		claim, _ := idempotency.ClaimFrom(ctx)
		fmt.Println(claim.Fence())
		<-ctx.Done()
		fmt.Println("its claim was lost:", context.Cause(ctx))
		return context.Cause(ctx)
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	time.Sleep(2 * patience) // it is killed
}

// start starts a consumer that ends with the test.
func start(t *testing.T, server *redistest.Server, called string, handle func(context.Context, *CreateOrder) error) *consumer {
	t.Helper()
	c, err := startConsumer(server.Addr(), called, handle)
	require.NoError(t, err)
	t.Cleanup(func() {
		for _, end := range c.close {
			require.NoError(t, end())
		}
	})
	return c
}

// send sends one and the same command n times, as a sender that had no answer.
func send(t *testing.T, server *redistest.Server, n int) {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	publisher, err := redisstream.NewPublisher(redisstream.PublisherConfig{Client: rdb}, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, publisher.Close()) }() // and so its client
	bus, err := wmcqrs.NewCommandBusWithConfig(publisher, wmcqrs.CommandBusConfig{
		GeneratePublishTopic: func(wmcqrs.CommandBusGeneratePublishTopicParams) (string, error) { return stream, nil },
		Marshaler:            wmcqrs.JSONMarshaler{},
	})
	require.NoError(t, err)
	for range n {
		require.NoError(t, bus.Send(t.Context(), CreateOrder{RequestID: "r1"}))
	}
}

// settled waits until the group has been given n messages in all, and has
// acknowledged each of them.
func settled(t *testing.T, server *redistest.Server, n int64) {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer func() { require.NoError(t, rdb.Close()) }()
	require.Eventually(t, func() bool {
		groups, err := rdb.XInfoGroups(context.Background(), stream).Result()
		return err == nil && len(groups) == 1 && groups[0].EntriesRead == n && groups[0].Pending == 0
	}, patience, 5*time.Millisecond)
}

// look returns the state of the command, as an operator sees it.
func look(t *testing.T, c *consumer) idempotency.Info {
	t.Helper()
	e, err := semelcqrs.NewExecutor(c.guard, name, func(context.Context, CreateOrder) (struct{}, error) { return struct{}{}, nil }, options())
	require.NoError(t, err)
	key, err := e.Key(t.Context(), CreateOrder{RequestID: "r1"})
	require.NoError(t, err)
	digest, err := key.Digest()
	require.NoError(t, err)
	operator, err := c.guard.Operator()
	require.NoError(t, err)
	info, err := operator.Look(t.Context(), digest)
	require.NoError(t, err)
	return info
}
