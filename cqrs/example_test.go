package cqrs_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/semel-go/semel/cqrs"
	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/memstore"
)

// CreateOrder is a command whose sender gives it a name.
type CreateOrder struct {
	cqrs.Returns[OrderCreated]
	RequestID string `semel:"-"`
	Customer  string
}

// OrderCreated is its result.
type OrderCreated struct{ Number int }

// exampleGuard is a Guard in memory. A program takes redisstore.
func exampleGuard() *idempotency.Guard {
	store, err := memstore.New(memstore.Options{})
	if err != nil {
		panic(err)
	}
	guard, err := idempotency.New(store, idempotency.Options{})
	if err != nil {
		panic(err)
	}
	return guard
}

func ExampleWrap() {
	guard := exampleGuard()
	defer guard.Close(context.Background())

	orders := 0
	createOrder := func(context.Context, CreateOrder) (OrderCreated, error) {
		orders++
		return OrderCreated{Number: orders}, nil
	}
	create, err := cqrs.Wrap(guard, "order.create.v1", createOrder, cqrs.Options[CreateOrder]{
		Key: func(c CreateOrder) string { return c.RequestID },
	})
	if err != nil {
		panic(err)
	}
	for _, customer := range []string{"c1", "c1", "c2"} {
		created, err := create(context.Background(), CreateOrder{RequestID: "r1", Customer: customer})
		fmt.Println(created.Number, errors.Is(err, idempotency.ErrMismatch))
	}
	// Output:
	// 1 false
	// 1 false
	// 0 true
}

func ExampleDo() {
	guard := exampleGuard()
	defer guard.Close(context.Background())

	bus, err := cqrs.NewBus(guard, cqrs.BusOptions{})
	if err != nil {
		panic(err)
	}
	createOrder := func(context.Context, CreateOrder) (OrderCreated, error) { return OrderCreated{Number: 17}, nil }
	// By content: for a minute, who says the same means the same.
	err = cqrs.Register(bus, "order.create.v1", createOrder, cqrs.Options[CreateOrder]{Window: time.Minute})
	if err != nil {
		panic(err)
	}
	for range 2 {
		out, err := cqrs.Do(context.Background(), bus, CreateOrder{Customer: "c1"})
		fmt.Println(out.Value.Number, out.Replayed, err)
	}
	// Output:
	// 17 false <nil>
	// 17 true <nil>
}
