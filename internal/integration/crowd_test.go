package integration_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/lock/redislock"
)

const (
	crowdKeys    = 10_000
	crowdCallers = 400
)

// TestCloseLeavesNothing lets a process contend for very many keys and close its
// Lockers while callers wait.
func TestCloseLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	crowd := startRole(t, "crowd", "CROWD_REDIS="+s.Addr())
	channels := func() int {
		return len(s.rdb.PubSubChannels(t.Context(), "*").Val())
	}
	require.Equal(t, "waiting", crowd.answer(t))
	require.Equal(t, crowdCallers, channels(), "those who wait listen")
	crowd.tell(t, "close")
	require.Equal(t, "closed", crowd.answer(t))
	eventually(t, "no subscription is left", func() bool { return channels() == 0 })
	require.Empty(t, s.held(t))
	crowd.tell(t, "count")
	require.Equal(t, "no goroutine is left", crowd.answer(t))
	name, err := s.forever(t.Context())
	require.NoError(t, err)
	require.Empty(t, name, "a Redis key without a TTL")
}

// crowdWorker is that process.
func crowdWorker() int {
	if err := crowd(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func crowd() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*soon)
	defer cancel()
	parent := bufio.NewScanner(os.Stdin)
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("CROWD_REDIS"), PoolSize: 50, PoolTimeout: soon})
	if err := rdb.Ping(ctx).Err(); err != nil {
		return err
	}
	goroutines := runtime.NumGoroutine()

	var lockers []*lock.Locker
	for range 2 {
		backend, err := redislock.New(rdb, redislock.Options{})
		if err != nil {
			return err
		}
		l, err := lock.New(backend, patient(lock.Options{}))
		if err != nil {
			return err
		}
		lockers = append(lockers, l)
	}
	holder, waiter := lockers[0], lockers[1]
	leases := make([]*lock.Lease, crowdKeys)
	err := forAll(func(i int) (err error) {
		leases[i], err = holder.Acquire(ctx, fmt.Sprint("k", i))
		return err
	})
	if err != nil {
		return err
	}
	// Each key is waited for, and the wait is given up.
	brief := waiter.With(lock.Options{Wait: 20 * time.Millisecond})
	err = forAll(func(i int) error {
		_, err := brief.Acquire(ctx, fmt.Sprint("k", i))
		if !errors.Is(err, lock.ErrNotAcquired) {
			return fmt.Errorf("a key that is held: %w", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	// Then there are some who wait until the Locker is closed.
	var waits sync.WaitGroup
	var sentHome atomic.Int32
	for i := range crowdCallers {
		waits.Go(func() {
			_, err := waiter.Acquire(ctx, fmt.Sprint("k", i))
			if errors.Is(err, lock.ErrClosed) {
				sentHome.Add(1)
			}
		})
	}
	if err := awaitChannels(ctx, rdb, crowdCallers); err != nil {
		return err
	}
	fmt.Println("waiting")
	parent.Scan()
	if err := waiter.Close(ctx); err != nil {
		return err
	}
	waits.Wait()
	if n := sentHome.Load(); n != crowdCallers {
		return fmt.Errorf("%d of %d callers were told that the Locker is closed", n, crowdCallers)
	}
	if err := forAll(func(i int) error { return leases[i].Release(ctx) }); err != nil {
		return err
	}
	if err := holder.Close(ctx); err != nil {
		return err
	}
	fmt.Println("closed")
	parent.Scan()
	for runtime.NumGoroutine() > goroutines {
		if ctx.Err() != nil {
			fmt.Println("goroutines are left")
			return pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
		}
		time.Sleep(10 * time.Millisecond)
	}
	fmt.Println("no goroutine is left")
	return nil
}

// forAll calls f for each of the keys, on many goroutines.
func forAll(f func(i int) error) error {
	var next atomic.Int64
	var all sync.WaitGroup
	errs := make([]error, crowdCallers)
	for n := range crowdCallers {
		all.Go(func() {
			for errs[n] == nil {
				i := int(next.Add(1)) - 1
				if i >= crowdKeys {
					return
				}
				errs[n] = f(i)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// awaitChannels waits until just so many channels are listened to.
func awaitChannels(ctx context.Context, rdb *redis.Client, n int) error {
	for {
		channels, err := rdb.PubSubChannels(ctx, "*").Result()
		if err != nil {
			return err
		}
		if len(channels) == n {
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
}
