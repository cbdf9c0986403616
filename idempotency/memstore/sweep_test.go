package memstore_test

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/memstore"
)

// heap is what lives on the heap.
func heap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// A million keys leave nothing behind; under the race detector, which makes
// them ten times dearer, a tenth of them. The test is not parallel, so that the
// heap is its own.
func TestMillionKeysLeaveNothing(t *testing.T) {
	n := 1_000_000
	if raced || testing.Short() {
		n = 100_000
	}
	synctest.Test(t, func(t *testing.T) {
		s := open(t, memstore.Options{MaxBytes: 1 << 40})
		ctx, start := t.Context(), heap()
		for i := range n {
			key, nonce := numbered(i)
			b, err := s.Begin(ctx, idempotency.BeginRequest{Key: key, Nonce: nonce, Lease: 30 * time.Second})
			if err != nil || b.State != idempotency.StateClaimed {
				t.Fatalf("begin of key %d says %s, %v", i, b.State, err)
			}
			if i%10 == 0 {
				continue // an owner that died
			}
			if _, err = s.Complete(ctx, record(i, b, nil)); err != nil {
				t.Fatal(err)
			}
		}
		entries, counted := s.Size()
		require.Equal(t, n, entries)
		full := heap() - start
		t.Logf("%d keys: %.0f bytes each, counted as %d", n, full/float64(n), counted/int64(n))
		require.InEpsilon(t, float64(counted), full, 0.25, "the bytes counted are not those taken")

		time.Sleep(time.Minute)
		entries, _ = s.Size()
		require.Equal(t, n-(n+9)/10, entries, "dead claims are still there")
		time.Sleep(2 * time.Hour)
		entries, counted = s.Size()
		require.Zero(t, entries)
		require.Zero(t, counted)
		end := heap()
		t.Logf("heap %.0f KiB before, %.0f KiB after", start/1024, end/1024)
		require.Less(t, end, start*1.1)
		runtime.KeepAlive(s)
	})
}

// An abandoned store is not kept alive by a timer once it is empty.
func TestEmptyStoreHasNoTimer(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	func() {
		s, err := memstore.New(memstore.Options{})
		require.NoError(t, err)
		_, err = begin(t, s, 0, idempotency.MinLease)
		require.NoError(t, err)
		runtime.AddCleanup(s, func(c chan struct{}) { close(c) }, gone)
	}()
	require.Eventually(t, func() bool {
		runtime.GC()
		select {
		case <-gone:
			return true
		default:
			return false
		}
	}, 20*time.Second, 50*time.Millisecond)
}

func TestCloseStopsSweeping(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := memstore.New(memstore.Options{})
		require.NoError(t, err)
		for i := range 1000 {
			_, err = begin(t, s, i, time.Minute)
			require.NoError(t, err)
		}
		require.NoError(t, s.Close())
		require.NoError(t, s.Close())
		time.Sleep(2 * time.Minute)
		entries, _ := s.Size()
		require.Equal(t, 1000, entries)

		key, nonce := numbered(0)
		_, err = begin(t, s, 0, time.Minute)
		require.ErrorIs(t, err, memstore.ErrClosed)
		require.ErrorIs(t, s.Renew(t.Context(), idempotency.RenewRequest{Key: key, Nonce: nonce, Lease: time.Minute}), memstore.ErrClosed)
		_, err = s.Complete(t.Context(), record(0, idempotency.Begun{}, nil))
		require.ErrorIs(t, err, memstore.ErrClosed)
		require.ErrorIs(t, s.Release(t.Context(), idempotency.ReleaseRequest{Key: key, Nonce: nonce, TTL: time.Minute}), memstore.ErrClosed)
		_, err = s.Bind(t.Context(), key, key, time.Minute)
		require.ErrorIs(t, err, memstore.ErrClosed)
		_, err = s.Look(t.Context(), key)
		require.ErrorIs(t, err, memstore.ErrClosed)
		_, err = s.Forget(t.Context(), key, time.Minute)
		require.ErrorIs(t, err, memstore.ErrClosed)
		for _, err := range s.List(t.Context(), idempotency.ListOptions{}) {
			require.ErrorIs(t, err, memstore.ErrClosed)
		}
	})
}

// Sweeps, calls and Close at the same time, on the real clock.
func TestCloseWhileSweeping(t *testing.T) {
	t.Parallel()
	for round := range 20 {
		s, err := memstore.New(memstore.Options{})
		require.NoError(t, err)
		var working sync.WaitGroup
		for g := range 4 {
			working.Go(func() {
				for i := range 500 {
					b, err := begin(t, s, g*1000+i, idempotency.MinLease)
					if err != nil {
						return
					}
					if i%2 == 0 {
						_, _ = s.Complete(t.Context(), record(g*1000+i, b, nil))
					}
				}
			})
		}
		working.Go(func() {
			time.Sleep(time.Duration(round) * 10 * time.Millisecond)
			_ = s.Close()
		})
		working.Wait()
		require.NoError(t, s.Close())
	}
}

// What ends is swept although the entries that end later came first, and
// although some have been prolonged, shortened and forgotten meanwhile.
func TestSweepFollowsTheEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, memstore.Options{})
		ends := map[time.Duration]int{}
		for i := range 4000 {
			life := time.Duration(4000-i) * time.Second
			lease := 10 * time.Second
			b, err := begin(t, s, i, lease)
			require.NoError(t, err)
			key, nonce := numbered(i)
			switch i % 4 {
			case 0:
				require.NoError(t, s.Renew(t.Context(), idempotency.RenewRequest{Key: key, Nonce: nonce, Lease: life}))
				life = max(life, lease)
			case 1:
				r := record(i, b, []byte("body"))
				r.Retention = life
				_, err = s.Complete(t.Context(), r)
				require.NoError(t, err)
			case 2:
				require.NoError(t, s.Release(t.Context(), idempotency.ReleaseRequest{Key: key, Nonce: nonce, TTL: life}))
			case 3:
				_, err = s.Complete(t.Context(), record(i, b, []byte("body")))
				require.NoError(t, err)
				_, err = s.Forget(t.Context(), key, life)
				require.NoError(t, err)
			}
			ends[life]++
		}
		begun := time.Now()
		for range 50 {
			time.Sleep(100 * time.Second)
			left := 0
			for life, n := range ends {
				if time.Since(begun) < life {
					left += n
				}
			}
			time.Sleep(200 * time.Millisecond)
			entries, _ := s.Size()
			// Those that end in just these two tenths of a second may be gone.
			require.InDelta(t, left, entries, 1)
		}
		entries, size := s.Size()
		require.Zero(t, entries)
		require.Zero(t, size)
	})
}

// What a queue knows of entries that ended long before they were to end is
// forgotten with them: no bound counts it.
func TestEntriesEndedEarlyLeaveNothing(t *testing.T) {
	n := 200_000
	if raced || testing.Short() {
		n = 50_000
	}
	synctest.Test(t, func(t *testing.T) {
		s := open(t, memstore.Options{MaxEntries: 1000})
		ctx, start := t.Context(), heap()
		for i := range n {
			_, err := begin(t, s, i, idempotency.MaxLease)
			require.NoError(t, err)
			key, nonce := numbered(i)
			require.NoError(t, s.Release(ctx, idempotency.ReleaseRequest{Key: key, Nonce: nonce, TTL: idempotency.MinLease}))
			if i%500 == 0 {
				time.Sleep(time.Second)
			}
		}
		time.Sleep(time.Second)
		entries, counted := s.Size()
		require.Zero(t, entries)
		require.Zero(t, counted)
		grown := heap() - start
		t.Logf("the heap has grown by %.0f KiB", grown/1024)
		require.Less(t, grown, float64(n)*30, "a tenth of what an entry takes")
		runtime.KeepAlive(s)
	})
}
