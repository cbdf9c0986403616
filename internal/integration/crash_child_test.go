package integration_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/redisstore"
)

const crashLease = time.Second

var crashKey = idempotency.Key{Scope: "crash", ID: "in_123"}

// die kills this process as a power cut would.
func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// crashStore dies at a named point of a request.
type crashStore struct {
	idempotency.Store
	point string
}

func (s crashStore) Begin(ctx context.Context, r idempotency.BeginRequest) (idempotency.Begun, error) {
	if s.point == "before the claim is sent" {
		die()
	}
	b, err := s.Store.Begin(ctx, r)
	if s.point == "before the claim's answer is used" {
		die()
	}
	return b, err
}

func (s crashStore) Complete(ctx context.Context, r idempotency.CompleteRequest) (bool, error) {
	if s.point == "after the function, before completing" {
		die()
	}
	late, err := s.Store.Complete(ctx, r)
	if s.point == "after completing, before the caller knows" {
		die()
	}
	return late, err
}

// crashChild runs one key on a guard and dies at the point it is told.
func crashChild() int {
	point := os.Getenv("CRASH_POINT")
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("CRASH_REDIS"), MaxRetries: -1})
	store, err := redisstore.New(rdb, redisstore.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	guard, err := idempotency.New(crashStore{store, point}, idempotency.Options{Lease: crashLease})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_, err = idempotency.Do(context.Background(), guard, crashKey, crashEffect(os.Getenv("CRASH_EFFECTS"), func() {
		if point == "while the function runs" {
			die()
		}
	}))
	fmt.Fprintln(os.Stderr, "not killed:", err)
	return 1
}

// crashEffect returns a function whose effect is a line in a file.
func crashEffect(file string, before func()) func(context.Context) (uint64, error) {
	return func(ctx context.Context) (uint64, error) {
		before()
		claim, ok := idempotency.ClaimFrom(ctx)
		if !ok {
			return 0, errors.New("no claim")
		}
		f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return 0, err
		}
		defer f.Close()
		_, err = fmt.Fprintln(f, claim.Fence(), claim.Attempt())
		return claim.Fence(), err
	}
}
