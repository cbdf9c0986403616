package memstore_test

import (
	"encoding/binary"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/memstore"
	"github.com/semel-go/semel/lock"
)

// numbered returns the i-th of many different keys, and a nonce for it.
func numbered(i int) (idempotency.Digest, idempotency.Nonce) {
	var (
		key   idempotency.Digest
		nonce idempotency.Nonce
	)
	binary.BigEndian.PutUint64(key[24:], uint64(i))
	binary.BigEndian.PutUint64(nonce[8:], uint64(i)+1)
	return key, nonce
}

// begin asks for the i-th key.
func begin(t *testing.T, s *memstore.Store, i int, lease time.Duration) (idempotency.Begun, error) {
	t.Helper()
	key, nonce := numbered(i)
	return s.Begin(t.Context(), idempotency.BeginRequest{Key: key, Nonce: nonce, Lease: lease})
}

// record makes a record of the i-th key's nonce.
func record(i int, b idempotency.Begun, body []byte) idempotency.CompleteRequest {
	key, nonce := numbered(i)
	return idempotency.CompleteRequest{Key: key, Retention: time.Hour, Record: idempotency.Record{
		Nonce: nonce, Fence: b.Fence, Attempt: b.Attempt, ClaimedAt: time.Now(), CompletedAt: time.Now(), Body: body,
	}}
}

func TestOptionsOutOfRange(t *testing.T) {
	t.Parallel()
	_, err := memstore.New(memstore.Options{MaxEntries: -1, MaxBytes: -1})
	require.ErrorIs(t, err, idempotency.ErrInvalid)
	require.ErrorContains(t, err, "MaxEntries")
	require.ErrorContains(t, err, "MaxBytes")
}

func TestFullShedsWhatBegins(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, memstore.Options{MaxEntries: 3})
		first, err := begin(t, s, 0, time.Minute)
		require.NoError(t, err)
		_, err = begin(t, s, 1, time.Minute)
		require.NoError(t, err)
		key, nonce := numbered(2)
		same, err := s.Bind(t.Context(), key, idempotency.Digest{1}, time.Minute)
		require.NoError(t, err)
		require.True(t, same)

		_, err = begin(t, s, 2, time.Minute)
		require.ErrorIs(t, err, memstore.ErrFull)
		other, _ := numbered(3)
		_, err = s.Bind(t.Context(), other, idempotency.Digest{1}, time.Minute)
		require.ErrorIs(t, err, memstore.ErrFull)
		err = s.Release(t.Context(), idempotency.ReleaseRequest{Key: key, Nonce: nonce, TTL: time.Minute, Compensate: true})
		require.ErrorIs(t, err, lock.ErrExpired, "a stub that nobody needs must not be what fills the store")
		entries, _ := s.Size()
		require.Equal(t, 3, entries)

		// What is there goes on: duplicates, renewals, releases, retries, outcomes.
		b, err := begin(t, s, 0, time.Minute)
		require.NoError(t, err)
		require.Equal(t, first, b)
		k, n := numbered(0)
		require.NoError(t, s.Renew(t.Context(), idempotency.RenewRequest{Key: k, Nonce: n, Lease: 2 * time.Minute}))
		_, err = s.Complete(t.Context(), record(0, b, []byte("done")))
		require.NoError(t, err)
		k, n = numbered(1)
		require.NoError(t, s.Release(t.Context(), idempotency.ReleaseRequest{Key: k, Nonce: n, TTL: time.Minute}))
		retry, err := s.Begin(t.Context(), idempotency.BeginRequest{Key: k, Nonce: idempotency.Nonce{9}, Lease: time.Minute})
		require.NoError(t, err)
		require.Equal(t, idempotency.StateClaimed, retry.State)

		// A record is not forgotten to make room, however long it has been there.
		time.Sleep(time.Hour - time.Second)
		dup, err := begin(t, s, 0, time.Minute)
		require.NoError(t, err)
		require.Equal(t, idempotency.StateCompleted, dup.State)
	})
}

func TestRoomIsGivenBackAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, memstore.Options{MaxEntries: 1000})
		for round := range 5 {
			for i := range 1000 {
				_, err := begin(t, s, round*1000+i, 50*time.Millisecond)
				require.NoError(t, err, "round %d, key %d", round, i)
			}
			_, err := begin(t, s, -1, 50*time.Millisecond)
			require.ErrorIs(t, err, memstore.ErrFull)
			// Sooner than the timer would sweep.
			time.Sleep(50 * time.Millisecond)
		}
	})
}

func TestAnOutcomeIsNeverRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, memstore.Options{MaxBytes: 4000})
		var begun []idempotency.Begun
		for i := 0; ; i++ {
			b, err := begin(t, s, i, time.Minute)
			if err != nil {
				require.ErrorIs(t, err, memstore.ErrFull)
				break
			}
			begun = append(begun, b)
		}
		require.NotEmpty(t, begun)
		body := make([]byte, 10_000)
		for i, b := range begun {
			_, err := s.Complete(t.Context(), record(i, b, body))
			require.NoError(t, err)
		}
		// Not even of a claim that has been swept since, or of an operator.
		late, err := s.Complete(t.Context(), record(1000, idempotency.Begun{Fence: 1, Attempt: 1}, body))
		require.NoError(t, err)
		require.True(t, late)
		forced, err := s.ForceComplete(t.Context(), record(1001, idempotency.Begun{Attempt: 1}, body))
		require.NoError(t, err)
		require.True(t, forced)
		_, size := s.Size()
		require.Greater(t, size, int64(len(begun)*len(body)))
		_, err = begin(t, s, 1002, time.Minute)
		require.ErrorIs(t, err, memstore.ErrFull)

		// Bytes are counted down as they were counted up.
		for i := range begun {
			key, _ := numbered(i)
			done, err := s.Forget(t.Context(), key, time.Minute)
			require.NoError(t, err)
			require.True(t, done)
		}
		time.Sleep(2 * time.Hour)
		entries, size := s.Size()
		require.Zero(t, entries)
		require.Zero(t, size)
	})
}

func TestBoundHoldsUnderConcurrency(t *testing.T) {
	t.Parallel()
	s := open(t, memstore.Options{MaxEntries: 500})
	var (
		working sync.WaitGroup
		claimed atomic.Int64
	)
	for g := range 8 {
		working.Go(func() {
			for i := range 500 {
				b, err := begin(t, s, g*1000+i, time.Hour)
				if err == nil && b.State == idempotency.StateClaimed {
					claimed.Add(1)
				}
			}
		})
	}
	working.Wait()
	entries, _ := s.Size()
	require.LessOrEqual(t, claimed.Load(), int64(500))
	require.Equal(t, claimed.Load(), int64(entries))
}

func TestLongestTimesDoNotOverflow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, memstore.Options{MaxEntries: math.MaxInt, MaxBytes: math.MaxInt64})
		b, err := begin(t, s, 0, idempotency.MaxLease)
		require.NoError(t, err)
		r := record(0, b, nil)
		r.Retention = idempotency.MaxRetention
		_, err = s.Complete(t.Context(), r)
		require.NoError(t, err)
		time.Sleep(idempotency.MaxRetention - time.Second)
		b, err = begin(t, s, 0, time.Minute)
		require.NoError(t, err)
		require.Equal(t, idempotency.StateCompleted, b.State)
		require.Equal(t, time.Second, b.Remaining)
		time.Sleep(time.Second)
		b, err = begin(t, s, 0, time.Minute)
		require.NoError(t, err)
		require.Equal(t, idempotency.StateClaimed, b.State)
	})
}
