package memstore_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/memstore"
)

// A first run costs its entry and nothing else, a renewal and the duplicate of
// an empty result nothing at all. Not parallel, as allocations are counted for
// the whole process.
func TestAllocations(t *testing.T) {
	s := open(t, memstore.Options{})
	i := 0
	run := testing.AllocsPerRun(2000, func() {
		b, _ := begin(t, s, i, time.Minute)
		_, _ = s.Complete(t.Context(), record(i, b, nil))
		i++
	})
	// The map and the queue grow now and then.
	require.LessOrEqual(t, run, 2.0)
	require.Zero(t, testing.AllocsPerRun(1000, func() { _, _ = begin(t, s, 7, time.Minute) }))
	_, err := begin(t, s, -1, time.Minute)
	require.NoError(t, err)
	key, nonce := numbered(-1)
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		_ = s.Renew(context.Background(), idempotency.RenewRequest{Key: key, Nonce: nonce, Lease: time.Minute})
	}))
}

// Begin and Complete of keys that are all different, so that the store grows
// as it does in use.
func BenchmarkFirstRun(b *testing.B) {
	ctx := context.Background()
	s := benchStore(b)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		key, nonce := numbered(i)
		begun, err := s.Begin(ctx, idempotency.BeginRequest{Key: key, Nonce: nonce, Lease: 30 * time.Second})
		if err != nil || begun.State != idempotency.StateClaimed {
			b.Fatal(begun.State, err)
		}
		if _, err = s.Complete(ctx, record(i, begun, nil)); err != nil {
			b.Fatal(err)
		}
		i++
	}
	runtime.KeepAlive(s)
}

func BenchmarkDuplicate(b *testing.B) {
	ctx := context.Background()
	s := benchStore(b)
	key, nonce := numbered(0)
	begun, err := s.Begin(ctx, idempotency.BeginRequest{Key: key, Nonce: nonce, Lease: 30 * time.Second})
	if err != nil {
		b.Fatal(err)
	}
	if _, err = s.Complete(ctx, record(0, begun, []byte("a small result"))); err != nil {
		b.Fatal(err)
	}
	nonce[0]++
	b.ReportAllocs()
	for b.Loop() {
		if dup, err := s.Begin(ctx, idempotency.BeginRequest{Key: key, Nonce: nonce, Lease: time.Minute}); err != nil ||
			dup.State != idempotency.StateCompleted {
			b.Fatal(dup.State, err)
		}
	}
}

func BenchmarkFirstRunParallel(b *testing.B) {
	ctx := context.Background()
	s := benchStore(b)
	var lane atomic.Int64
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		i := int(lane.Add(1)) << 40
		for pb.Next() {
			i++
			key, nonce := numbered(i)
			begun, err := s.Begin(ctx, idempotency.BeginRequest{Key: key, Nonce: nonce, Lease: 30 * time.Second})
			if err != nil {
				b.Error(err)
				return
			}
			if _, err = s.Complete(ctx, record(i, begun, nil)); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func benchStore(b *testing.B) *memstore.Store {
	b.Helper()
	s, err := memstore.New(memstore.Options{MaxEntries: 1 << 40, MaxBytes: 1 << 50})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}
