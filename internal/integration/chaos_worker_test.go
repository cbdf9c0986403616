package integration_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/lock/redislock"
)

const (
	chaosTTL = 500 * time.Millisecond
	chaosKey = "register"
)

// chaosWorker increments a register under a lock, in many goroutines, until it
// is killed or its standard input is closed. It prints the value of each
// increment that was acknowledged.
func chaosWorker() int {
	redisAddr, registerAddr, name := os.Getenv("CHAOS_REDIS"), os.Getenv("CHAOS_REGISTER"), os.Getenv("CHAOS_NAME")
	goroutines, _ := strconv.Atoi(os.Getenv("CHAOS_GOROUTINES"))
	rdb := redis.NewClient(&redis.Options{Addr: redisAddr})
	backend, err := redislock.New(rdb, redislock.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	locker, err := lock.New(backend, lock.Options{TTL: chaosTTL, Wait: 5 * time.Second})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1)) // until it is closed
		cancel()
	}()
	var wg sync.WaitGroup
	var out sync.Mutex
	for range goroutines {
		wg.Go(func() {
			register, err := dialRegister(registerAddr)
			if err != nil {
				return
			}
			for ctx.Err() == nil {
				value, ok := increment(ctx, locker, register, name)
				if ok {
					out.Lock()
					fmt.Println(value)
					out.Unlock()
				}
			}
		})
	}
	wg.Wait()
	done, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	if err := locker.Close(done); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// increment is what a careful owner does: it looks whether the lease is good
// before it writes, and gives the register its fence. Between the look and the
// write it can still be stopped.
func increment(ctx context.Context, locker *lock.Locker, register *registerClient, name string) (int64, bool) {
	lease, err := locker.Acquire(ctx, chaosKey)
	if err != nil {
		return 0, false
	}
	defer func() { _ = lease.Release(ctx) }()
	value, ok, err := register.ask("R", name, lease.Fence(), 0)
	if err != nil || !ok {
		return 0, false
	}
	if !lease.Valid() {
		return 0, false
	}
	if _, _, err = register.ask("S", name, 0, 0); err != nil {
		return 0, false
	}
	if _, ok, err = register.ask("W", name, lease.Fence(), value+1); err != nil || !ok {
		return 0, false
	}
	return value + 1, true
}
