package integration_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/cqrs"
	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/redisstore"
	"github.com/semel-go/semel/internal/redistest"
)

// senders is how many goroutines of each of two processes send one command.
const senders = 50

// transfer is a command, and transferred its result.
type transfer struct {
	cqrs.Returns[transferred]
	From, To string
	Cents    int64
}

type transferred struct{ Number int64 }

// sent is how the sends of a process ended.
type sent struct {
	Runs, Busy int
	Results    []transferred
}

// counter sends one command from many goroutines.
type counter struct {
	rdb  *redis.Client
	bus  *cqrs.Bus
	wait time.Duration

	mu  sync.Mutex
	all sent
	err error
}

// handle runs until everybody else has come: those who wait have begun to send,
// and those who do not have had their answers.
func (o *counter) handle(ctx context.Context, _ transfer) (transferred, error) {
	n, err := o.rdb.Incr(ctx, "runs").Result()
	others := 2*senders - 1
	if o.wait > 0 {
		others++ // the runner itself began to send, too
	}
	for i := 0; i < others && err == nil; i++ {
		err = o.rdb.BLPop(ctx, time.Minute, "came").Err()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all.Runs++
	return transferred{Number: 1<<53 + n}, err
}

func (o *counter) send(ctx context.Context) {
	if o.wait > 0 {
		o.rdb.RPush(ctx, "came", "")
	}
	result, err := cqrs.Send(ctx, o.bus, transfer{From: "a", To: "b", Cents: 100})
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case err == nil:
		o.all.Results = append(o.all.Results, result)
	case errors.Is(err, idempotency.ErrInProgress):
		o.all.Busy++
		o.rdb.RPush(ctx, "came", "")
	default:
		o.err = errors.Join(o.err, err)
	}
}

// sendMany is what one process does.
func sendMany(ctx context.Context, addr string, wait time.Duration) (sent, error) {
	o := &counter{rdb: redis.NewClient(&redis.Options{Addr: addr, PoolSize: 2 * senders}), wait: wait}
	defer func() { _ = o.rdb.Close() }()
	store, err := redisstore.New(o.rdb, redisstore.Options{})
	if err != nil {
		return sent{}, err
	}
	defer func() { _ = store.Close() }()
	guard, err := idempotency.New(store, idempotency.Options{})
	if err != nil {
		return sent{}, err
	}
	defer func() { _ = guard.Close(context.WithoutCancel(ctx)) }()
	if o.bus, err = cqrs.NewBus(guard, cqrs.BusOptions{Wait: wait}); err != nil {
		return sent{}, err
	}
	if err := cqrs.Register(o.bus, "transfer.v1", o.handle, cqrs.Options[transfer]{Window: time.Hour}); err != nil {
		return sent{}, err
	}
	var wg sync.WaitGroup
	for range senders {
		wg.Go(func() { o.send(ctx) })
	}
	wg.Wait()
	return o.all, o.err
}

// cqrsChild is one of two processes. It prints how its sends ended.
func cqrsChild() int {
	wait, err := time.ParseDuration(os.Getenv("CQRS_WAIT"))
	if err == nil {
		var all sent
		if all, err = sendMany(context.Background(), os.Getenv("CQRS_REDIS"), wait); err == nil {
			err = json.NewEncoder(os.Stdout).Encode(all)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// TestCommandOfTwoProcesses: one command, sent 100 times at once from two
// processes, runs once. Who waits gets its result, and who does not is told that
// it is under way.
func TestCommandOfTwoProcesses(t *testing.T) {
	t.Parallel()
	for _, wait := range []time.Duration{0, time.Minute} {
		t.Run(wait.String(), func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			var all sent
			ends := [2]func() sent{}
			for i := range ends {
				ends[i] = startSender(t, server.Addr(), wait)
			}
			for _, end := range ends {
				got := end()
				all.Runs += got.Runs
				all.Busy += got.Busy
				all.Results = append(all.Results, got.Results...)
			}
			require.Equal(t, 1, all.Runs)
			for _, result := range all.Results {
				require.Equal(t, transferred{Number: 1<<53 + 1}, result)
			}
			if wait > 0 {
				require.Len(t, all.Results, 2*senders)
			} else {
				require.Len(t, all.Results, 1)
				require.Equal(t, 2*senders-1, all.Busy)
			}
		})
	}
}

// startSender starts a process and returns what waits for its end.
func startSender(t *testing.T, addr string, wait time.Duration) (end func() sent) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"=cqrs", "CQRS_REDIS="+addr, "CQRS_WAIT="+wait.String())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return func() sent {
		t.Helper()
		var all sent
		told, err := io.ReadAll(out)
		require.NoError(t, err)
		require.NoError(t, cmd.Wait())
		require.NoError(t, json.Unmarshal(told, &all))
		return all
	}
}
