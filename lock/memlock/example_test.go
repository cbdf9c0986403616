package memlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/lock/memlock"
)

// A Locker in memory, for one process and for tests.
func Example() {
	ctx := context.Background()
	backend, err := memlock.New(memlock.Options{})
	if err != nil {
		log.Fatal(err)
	}
	locker, err := lock.New(backend, lock.Options{TTL: 5 * time.Second, Wait: 10 * time.Millisecond})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = locker.Close(ctx) }()

	lease, err := locker.Acquire(ctx, "invoice:in_123")
	if err != nil {
		log.Fatal(err)
	}
	_, err = locker.Acquire(ctx, "invoice:in_123")
	fmt.Println("while it is held:", errors.Is(err, lock.ErrNotAcquired))

	if err := lease.Release(ctx); err != nil {
		log.Fatal(err)
	}
	err = locker.Do(ctx, "invoice:in_123", func(context.Context) error {
		fmt.Println("when it is free: done")
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// while it is held: true
	// when it is free: done
}

// What an operator sees of a key, and how a key is taken from an owner that
// hangs.
func ExampleBackend_Break() {
	ctx := context.Background()
	backend, err := memlock.New(memlock.Options{})
	if err != nil {
		log.Fatal(err)
	}
	_, err = backend.Acquire(ctx, lock.Request{Key: "report", Nonce: "worker-1", TTL: time.Minute, Block: 1})
	if err != nil {
		log.Fatal(err)
	}
	for info, err := range backend.List(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s is %s by %s\n", info.Key, info.State, info.Nonce)
	}
	if err := backend.Break(ctx, "report"); err != nil {
		log.Fatal(err)
	}
	_, err = backend.Extend(ctx, lock.Request{Key: "report", Nonce: "worker-1", TTL: time.Minute})
	fmt.Println("its owner has lost it:", errors.Is(err, lock.ErrLost))
	// Output:
	// report is held by worker-1
	// its owner has lost it: true
}
