package redisstore_test

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/redisstore"
)

// An event that two processes are told of takes effect once.
func Example() {
	server, err := miniredis.Run() // in the place of a Redis
	if err != nil {
		panic(err)
	}
	defer server.Close()
	ctx := context.Background()

	for _, process := range []string{"a", "b"} {
		rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
		store, err := redisstore.New(rdb, redisstore.Options{})
		if err != nil {
			panic(err)
		}
		guard, err := idempotency.New(store, idempotency.Options{Retention: 7 * 24 * time.Hour})
		if err != nil {
			panic(err)
		}
		number, err := idempotency.Do(ctx, guard, idempotency.Key{Scope: "invoice", ID: "in_123"},
			func(context.Context) (int, error) {
				fmt.Println(process, "sends the invoice")
				return 42, nil
			})
		fmt.Println(process, "has", number, err)

		_ = guard.Close(ctx)
		_ = store.Close()
		_ = rdb.Close()
	}
	// Output:
	// a sends the invoice
	// a has 42 <nil>
	// b has 42 <nil>
}
