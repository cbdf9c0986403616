package memstore_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/memstore"
)

// An event that is delivered again while the process lives takes effect once.
func Example() {
	store, err := memstore.New(memstore.Options{MaxEntries: 100_000})
	if err != nil {
		panic(err)
	}
	defer func() { _ = store.Close() }()
	guard, err := idempotency.New(store, idempotency.Options{Retention: time.Hour})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	defer func() { _ = guard.Close(ctx) }()

	for range 3 {
		number, err := idempotency.Do(ctx, guard, idempotency.Key{Scope: "invoice", ID: "in_123"},
			func(context.Context) (int, error) {
				fmt.Println("sent")
				return 42, nil
			})
		fmt.Println(number, err)
	}
	// Output:
	// sent
	// 42 <nil>
	// 42 <nil>
	// 42 <nil>
}

// A full store takes on nothing new, and says so: a Guard reports it as
// unavailable, so that the sender delivers again later.
func ExampleErrFull() {
	store, err := memstore.New(memstore.Options{MaxEntries: 1})
	if err != nil {
		panic(err)
	}
	defer func() { _ = store.Close() }()
	guard, err := idempotency.New(store, idempotency.Options{})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	defer func() { _ = guard.Close(ctx) }()

	run := func(id string) error {
		_, err := idempotency.Do(ctx, guard, idempotency.Key{Scope: "invoice", ID: id},
			func(context.Context) (int, error) { return 1, nil })
		return err
	}
	fmt.Println(run("in_1"))
	err = run("in_2")
	fmt.Println(errors.Is(err, idempotency.ErrUnavailable), errors.Is(err, memstore.ErrFull))
	fmt.Println(run("in_1"))
	// Output:
	// <nil>
	// true true
	// <nil>
}
