package redisstore_test

import (
	"context"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/lock"
)

func TestBeginOneOwner(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		key := digestOf(t, "a")
		var wg sync.WaitGroup
		var claimed, held atomic.Int32
		for range 64 {
			wg.Go(func() {
				b, err := e.Begin(context.WithoutCancel(t.Context()), request(key, newNonce()))
				switch {
				case err != nil:
					t.Error(err)
				case b.State == idempotency.StateClaimed:
					claimed.Add(1)
				case b.State == idempotency.StateHeld:
					held.Add(1)
				}
			})
		}
		wg.Wait()
		require.EqualValues(t, 1, claimed.Load())
		require.EqualValues(t, 63, held.Load())
	})
}

func TestBeginAnswers(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		key, nonce := digestOf(t, "a"), newNonce()
		r := request(key, nonce)
		r.Fingerprint, r.Label = printOf("content"), []byte("scope\x00\r\n and id")
		b, err := e.Begin(t.Context(), r)
		require.NoError(t, err)
		require.EqualValues(t, 1, b.Attempt)
		require.Equal(t, idempotency.Begun{State: idempotency.StateClaimed, Fence: b.Fence, Attempt: 1}, b)

		held := e.refused(t, key, false)
		about(t, lease, held.Remaining)
		require.Equal(t, idempotency.Begun{
			State: idempotency.StateHeld, Remaining: held.Remaining, Fingerprint: r.Fingerprint,
		}, held)

		info := e.look(t, key)
		require.Equal(t, r.Label, info.Record.Label)
		require.Equal(t, r.Fingerprint, info.Record.Fingerprint)
		require.WithinDuration(t, time.Now(), info.Record.ClaimedAt, time.Minute)

		require.NoError(t, e.Release(t.Context(), idempotency.ReleaseRequest{
			Key: key, Nonce: nonce, TTL: stub, Unknown: time.Minute,
		}))
		unknown := e.refused(t, key, false)
		about(t, time.Minute, unknown.Remaining)
		require.Equal(t, idempotency.Begun{
			State: idempotency.StateUnknown, Remaining: unknown.Remaining, Fingerprint: r.Fingerprint,
		}, unknown)
		require.Equal(t, r.Label, e.look(t, key).Record.Label)

		e.expire(t, key)
		again := e.begin(t, key, newNonce())
		require.Greater(t, again.Fence, b.Fence)
		require.EqualValues(t, 1, again.Attempt)
		require.Zero(t, e.refused(t, key, false).Fingerprint)
	})
}

// TestBeginAgain is a request whose reply was lost.
func TestBeginAgain(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		key, nonce := digestOf(t, "a"), newNonce()
		first := e.begin(t, key, nonce)
		e.refused(t, key, true)
		e.mustDo(t, "PEXPIRE", nameOf(key), short.Milliseconds())
		require.Equal(t, first, e.begin(t, key, nonce), "the same answer")
		value, left := e.raw(t, key)
		about(t, lease, left)
		require.Equal(t, "1cw0", value[:4], "who waits is not forgotten")

		// It was renewed for longer: a late copy does not shorten it.
		require.NoError(t, e.Renew(t.Context(), idempotency.RenewRequest{Key: key, Nonce: nonce, Lease: 2 * lease}))
		require.Equal(t, first, e.begin(t, key, nonce))
		_, left = e.raw(t, key)
		about(t, 2*lease, left)
	})
}

func TestBeginAfterRelease(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		key, nonce := digestOf(t, "a"), newNonce()
		last := e.begin(t, key, nonce)
		for attempt := uint32(2); attempt <= 12; attempt++ {
			e.release(t, key, nonce)
			nonce = newNonce()
			b := e.begin(t, key, nonce)
			require.Greater(t, b.Fence, last.Fence)
			require.Equal(t, attempt, b.Attempt)
			last = b
		}
		e.expire(t, key)
		b := e.begin(t, key, newNonce())
		require.Greater(t, b.Fence, last.Fence)
		require.EqualValues(t, 1, b.Attempt, "a crash leaves no stub behind")
	})
}

func TestBeginNotBefore(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		key, nonce := digestOf(t, "a"), newNonce()
		first := e.begin(t, key, nonce)
		const later = 3 * time.Second
		require.NoError(t, e.Release(t.Context(), idempotency.ReleaseRequest{
			Key: key, Nonce: nonce, TTL: stub, NotBefore: later,
		}))
		info := e.look(t, key)
		about(t, later, info.NotBefore)
		about(t, later+stub, info.Remaining)
		require.False(t, info.Waiters)
		b := e.refused(t, key, true)
		about(t, later, b.Remaining)
		require.Equal(t, idempotency.Begun{State: idempotency.StateFree, Remaining: b.Remaining}, b)
		require.True(t, e.look(t, key).Waiters)

		e.pass(later + 10*time.Millisecond)
		require.Zero(t, e.look(t, key).NotBefore)
		b = e.begin(t, key, newNonce())
		require.EqualValues(t, 2, b.Attempt)
		require.Greater(t, b.Fence, first.Fence)
		require.False(t, e.look(t, key).Waiters)
	})
}

// TestBeginFences looks at where a number that is made into text would lose
// digits, and at clocks that are wrong.
func TestBeginFences(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		set := func(id, fence, attempt string) idempotency.Digest {
			key, nonce := digestOf(t, id), newNonce()
			value := "1f-0" + string(nonce[:]) + fence + attempt + strings.Repeat("0", 16)
			require.NoError(t, e.rdb.Set(t.Context(), nameOf(key), value, keep).Err())
			return key
		}
		ahead := set("ahead", "3999999999999999", "0000000009")
		want := uint64(3999999999999999)
		for range 3 {
			nonce := newNonce()
			want++
			require.Equal(t, want, e.begin(t, ahead, nonce).Fence)
			e.release(t, ahead, nonce)
		}
		b := e.begin(t, set("behind", "0000000000000077", "0000000010"), newNonce())
		require.WithinDuration(t, time.Now(), time.UnixMicro(int64(b.Fence)), time.Minute)
		require.EqualValues(t, 11, b.Attempt)

		b = e.begin(t, set("many", "0000000000000077", "4294967295"), newNonce())
		require.Equal(t, uint32(math.MaxUint32), b.Attempt, "it stays at the greatest")

		_, err := e.Begin(t.Context(), request(set("too far", "4503599627370495", "0000000001"), newNonce()))
		require.ErrorContains(t, err, "fence is out of range")
	})
}

// TestBeginOldClock is a server whose clock is set back, and one that has fewer
// than 16 digits.
func TestBeginOldClock(t *testing.T) {
	t.Parallel()
	mini := miniredis.RunT(t)
	e := connect(t, mini.Addr())
	key, nonce := digestOf(t, "a"), newNonce()
	last := e.begin(t, key, nonce).Fence
	for _, now := range []time.Time{time.UnixMicro(1700000000000005), time.UnixMicro(1000005), time.UnixMicro(0)} {
		mini.SetTime(now)
		e.release(t, key, nonce)
		nonce = newNonce()
		fence := e.begin(t, key, nonce).Fence
		require.Equal(t, last+1, fence)
		last = fence
	}
	mini.SetTime(time.UnixMicro(12_000_345))
	require.EqualValues(t, 12_000_345, e.begin(t, digestOf(t, "b"), newNonce()).Fence)
}

// TestBeginNonces has nonces and fingerprints of bytes that mean something to
// others, and nonces that begin alike.
func TestBeginNonces(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		for i, nonce := range []idempotency.Nonce{
			{15: 1}, {0: '\r', 1: '\n', 15: '\n'}, {0: 0xff, 15: 0xff}, [16]byte([]byte("$5\r\nhello\r\n%s%d*")),
		} {
			key := digestOf(t, string(rune('a'+i)))
			r := request(key, nonce)
			copy(r.Fingerprint[:], nonce[:])
			b, err := e.Begin(t.Context(), r)
			require.NoError(t, err)
			require.Equal(t, r.Fingerprint, e.refused(t, key, false).Fingerprint)
			alike := nonce
			alike[15] ^= 2
			require.ErrorIs(t, e.Renew(t.Context(), idempotency.RenewRequest{Key: key, Nonce: alike, Lease: lease}), lock.ErrTaken)
			require.NoError(t, e.Renew(t.Context(), idempotency.RenewRequest{Key: key, Nonce: nonce, Lease: lease}))
			held, err := e.Begin(t.Context(), request(key, alike))
			require.NoError(t, err)
			require.Equal(t, idempotency.StateHeld, held.State)
			_, err = e.Complete(t.Context(), idempotency.CompleteRequest{Key: key, Record: record(alike, b), Retention: keep})
			require.ErrorIs(t, err, lock.ErrTaken)
			require.ErrorIs(t, e.Release(t.Context(), idempotency.ReleaseRequest{Key: key, Nonce: alike, TTL: stub}), lock.ErrTaken)
			dead, err := e.ReleaseDead(t.Context(), key, alike, stub)
			require.NoError(t, err)
			require.False(t, dead)
			rec := record(nonce, b)
			rec.Fingerprint = r.Fingerprint
			e.complete(t, key, rec)
			require.Equal(t, rec, e.refused(t, key, false).Record)
			_, err = e.Complete(t.Context(), idempotency.CompleteRequest{Key: key, Record: record(alike, b), Retention: keep})
			require.ErrorIs(t, err, lock.ErrTaken)
		}
	})
}

func TestBeginMarks(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		key, nonce := digestOf(t, "a"), newNonce()
		e.begin(t, key, nonce)
		e.unchanged(t, key, func() { e.refused(t, key, false) })
		require.False(t, e.look(t, key).Waiters)
		_, left := e.raw(t, key)
		e.refused(t, key, true)
		require.True(t, e.look(t, key).Waiters)
		_, after := e.raw(t, key)
		require.LessOrEqual(t, after, left)
		e.unchanged(t, key, func() { e.refused(t, key, true) })
		require.NoError(t, e.Renew(t.Context(), idempotency.RenewRequest{Key: key, Nonce: nonce, Lease: lease}))
		require.True(t, e.look(t, key).Waiters)
	})
}

// TestBeginForever is a claim whose expiry somebody took away: askers come again,
// though not at once, and an operator can end it.
func TestBeginForever(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		key, nonce := digestOf(t, "a"), newNonce()
		e.begin(t, key, nonce)
		require.NoError(t, e.rdb.Persist(t.Context(), nameOf(key)).Err())
		require.Equal(t, time.Second, e.refused(t, key, true).Remaining)
		require.Equal(t, time.Second, e.look(t, key).Remaining)
		require.NoError(t, e.Renew(t.Context(), idempotency.RenewRequest{Key: key, Nonce: nonce, Lease: lease}))
		about(t, lease, e.look(t, key).Remaining)
		require.NoError(t, e.rdb.Persist(t.Context(), nameOf(key)).Err())
		dead, err := e.ReleaseDead(t.Context(), key, nonce, stub)
		require.NoError(t, err)
		require.True(t, dead)
		about(t, stub, e.look(t, key).Remaining)
	})
}

func TestBadInput(t *testing.T) {
	onServers(t, func(t *testing.T, e env) {
		sent := &recorder{}
		e.rdb.AddHook(sent)
		key, nonce := digestOf(t, "a"), newNonce()
		invalid := func(err error, field string) {
			t.Helper()
			require.ErrorIs(t, err, idempotency.ErrInvalid)
			require.ErrorContains(t, err, field)
		}
		for _, d := range []time.Duration{0, -time.Second, time.Microsecond, idempotency.MinLease - 1, idempotency.MaxLease + 1} {
			r := request(key, nonce)
			r.Lease = d
			_, err := e.Begin(t.Context(), r)
			invalid(err, "Lease")
			renew := idempotency.RenewRequest{Key: key, Nonce: nonce, Lease: d}
			invalid(e.Renew(t.Context(), renew), "Lease")
			for _, err := range e.RenewBatch(t.Context(), []idempotency.RenewRequest{renew, renew}) {
				invalid(err, "Lease")
			}
		}
		for _, d := range []time.Duration{0, -time.Second, time.Microsecond, idempotency.MaxRetention + 1} {
			complete := idempotency.CompleteRequest{Key: key, Record: record(nonce, idempotency.Begun{}), Retention: d}
			_, err := e.Complete(t.Context(), complete)
			invalid(err, "Retention")
			_, err = e.ForceComplete(t.Context(), complete)
			invalid(err, "Retention")
			_, err = e.Bind(t.Context(), key, key, d)
			invalid(err, "ttl")
			_, err = e.Forget(t.Context(), key, d)
			invalid(err, "stub")
			_, err = e.ReleaseDead(t.Context(), key, nonce, d)
			invalid(err, "stub")
			invalid(e.Release(t.Context(), idempotency.ReleaseRequest{Key: key, Nonce: nonce, TTL: d}), "TTL")
		}
		far := idempotency.MaxRetention + 1
		invalid(e.Release(t.Context(), idempotency.ReleaseRequest{Key: key, Nonce: nonce, TTL: stub, NotBefore: far}), "NotBefore")
		invalid(e.Release(t.Context(), idempotency.ReleaseRequest{Key: key, Nonce: nonce, TTL: stub, Unknown: far}), "Unknown")
		_, err := e.Begin(t.Context(), request(key, idempotency.Nonce{}))
		invalid(err, "Nonce")
		for field, change := range map[string]func(r *idempotency.Record){
			"Fence":     func(r *idempotency.Record) { r.Fence = 1 << 52 },
			"ClaimedAt": func(r *idempotency.Record) { r.ClaimedAt = time.Unix(1<<40, 0) },
		} {
			r := record(nonce, idempotency.Begun{})
			change(&r)
			_, err := e.Complete(t.Context(), idempotency.CompleteRequest{Key: key, Record: r, Retention: keep})
			invalid(err, field)
		}

		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = e.Begin(ended, request(key, nonce))
		require.ErrorIs(t, err, context.Canceled)
		require.Empty(t, sent.take(), "nothing is sent")
		require.Zero(t, e.rdb.DBSize(t.Context()).Val())
	})
}
