package cqrs_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/cqrs"
	"github.com/semel-go/semel/idempotency"
)

// Flat is a command of eight fields.
type Flat struct {
	cqrs.Returns[FlatResult]
	Order    string
	Customer string
	Currency string
	Amount   int64
	Quantity int32
	Express  bool
	Rate     float64
	Due      time.Time
}

// FlatResult is what it returns.
type FlatResult struct {
	ID     string
	Amount int64
}

// BenchmarkSend is a command through the bus and the guard, in memory: each by
// content, a new one or one that has run; and what the guard takes of it.
func BenchmarkSend(b *testing.B) {
	handle := func(ctx context.Context, c Flat) (FlatResult, error) {
		return FlatResult{ID: c.Order, Amount: c.Amount}, ctx.Err()
	}
	guard := newGuard(b, idempotency.Options{})
	bus, err := cqrs.NewBus(guard, cqrs.BusOptions{})
	require.NoError(b, err)
	require.NoError(b, cqrs.Register(bus, "flat.v1", handle, cqrs.Options[Flat]{Window: time.Hour}))
	cmd := Flat{
		Order: "order-2026-000017", Customer: "cus_9s6XKzkNRiz8i3", Currency: "EUR",
		Quantity: 3, Express: true, Rate: 1.19, Due: time.Unix(1_800_000_000, 0),
	}
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			cmd.Amount++
			if _, err := cqrs.Send(b.Context(), bus, cmd); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("replay", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := cqrs.Send(b.Context(), bus, cmd); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("guard alone, first", func(b *testing.B) {
		b.ReportAllocs()
		key := idempotency.Key{Scope: "flat.v1"}
		id := make([]byte, 16)
		for b.Loop() {
			cmd.Amount++
			for i := range 8 {
				id[i] = byte(cmd.Amount >> (8 * i))
			}
			key.ID = string(id)
			if _, err := idempotency.Do(b.Context(), guard, key, func(ctx context.Context) (FlatResult, error) { return handle(ctx, cmd) }); err != nil {
				b.Fatal(err)
			}
		}
	})
}
