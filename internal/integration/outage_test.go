package integration_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/observe"
)

// outages are ways for a Redis to be gone, and to come back.
func outages() map[string]struct{ begin, end func(*site) } {
	return map[string]struct{ begin, end func(*site) }{
		"killed":      {func(s *site) { s.Kill() }, func(s *site) { s.Restart() }},
		"paused":      {func(s *site) { s.Pause() }, func(s *site) { s.Resume() }},
		"black-holed": {func(s *site) { s.proxy.BlackHole() }, func(s *site) { s.proxy.Pass(); s.proxy.CutAll() }},
		"half-open":   {func(s *site) { s.proxy.HalfOpen() }, func(s *site) { s.proxy.Pass(); s.proxy.CutAll() }},
	}
}

// The Redis goes away while a lease is held: the lease ends before its TTL is
// over by its holder's clock, and until the store is back everybody is told
// that it is away, in time, and never that the key is held.
func TestOutage(t *testing.T) {
	t.Parallel()
	for name, outage := range outages() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testOutage(t, outage.begin, outage.end)
		})
	}
}

func testOutage(t *testing.T, begin, end func(*site)) {
	const (
		ttl     = time.Second
		timeout = 200 * time.Millisecond
		wait    = 400 * time.Millisecond
		// in time is before the client itself would have given up.
		inTime = 3 * time.Second
	)
	s := newSite(t)
	d := &diary{}
	// The client's own defaults: it heeds no deadline but its own of 3 s, and
	// tries four times.
	l := newLocker(t, newClient(t, redis.Options{Addr: s.proxy.Addr()}), lock.Options{TTL: ttl, Observer: d})
	other := newLocker(t, newClient(t, redis.Options{Addr: s.proxy.Addr()}), lock.Options{TTL: ttl})
	hurried := l.With(lock.Options{Timeout: timeout, Wait: wait})
	warm(t, l)

	lease := acquire(t, hurried, "held")
	derived, cancel := context.WithCancel(lease.Context())
	defer cancel()
	ctx, stop := context.WithTimeout(t.Context(), soon)
	defer stop()
	waiting := acquireLater(ctx, other.With(lock.Options{Timeout: timeout, Wait: 2 * ttl}), "held")
	eventually(t, "another waits", func() bool { return s.look(t, "held").Waiters })
	begin(s)
	struck := time.Now() // no renewal that was sent after this is answered

	insist := func(how string, within time.Duration, acquire func() error) {
		t.Helper()
		begun := time.Now()
		err := acquire()
		require.ErrorIs(t, err, lock.ErrUnavailable, how)
		require.NotErrorIs(t, err, lock.ErrNotAcquired, how)
		require.Less(t, time.Since(begun), within+inTime, how)
	}
	insist("TryAcquire", timeout, func() error {
		_, err := hurried.TryAcquire(t.Context(), "k")
		return err
	})
	insist("Acquire", wait, func() error {
		_, err := hurried.Acquire(t.Context(), "k")
		return err
	})
	insist("Acquire until a deadline", timeout, func() error {
		ctx, cancel := context.WithTimeout(t.Context(), timeout/2)
		defer cancel()
		_, err := l.Acquire(ctx, "k")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		return err
	})
	ran, err := hurried.TryDo(t.Context(), "k", func(context.Context) error { return nil })
	require.False(t, ran)
	require.ErrorIs(t, err, lock.ErrUnavailable)

	// Its own clock ends the lease, whoever asks when.
	for lease.Valid() {
		passed := time.Since(struck)
		require.False(t, passed >= ttl && lease.Valid(), "valid %v after the store went away", passed)
		time.Sleep(time.Millisecond)
	}
	require.Error(t, lease.Context().Err())
	require.ErrorIs(t, context.Cause(lease.Context()), lock.ErrLost)
	require.Zero(t, lease.Remaining())
	select {
	case <-derived.Done(): // by a timer: a derived context asks nobody
		require.ErrorIs(t, context.Cause(derived), lock.ErrLost)
	case <-time.After(soon):
		t.Fatal("a context derived from the lease's does not end")
	}
	d.has(t, observe.Lost)
	require.ErrorIs(t, lease.Extend(t.Context(), ttl), lock.ErrLost)
	insist("Release", timeout, func() error { return lease.Release(t.Context()) })

	got := await(t, waiting, "the end of a wait in an outage")
	end(s)
	release(t, acquire(t, l, "k"))
	release(t, acquire(t, other, "held"))
	s.noneHeld(t)
	// Who was told that the key is held, for at most a time that is over, does
	// not know it any more.
	require.ErrorIs(t, got.err, lock.ErrUnavailable)
	require.NotErrorIs(t, got.err, lock.ErrNotAcquired)
}

// A caller with 25 ms to live is not made to wait for a Redis that takes 200 ms,
// although a client with its default options does wait.
func TestDeadlineBeforeASlowRedis(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, face := range faces() {
		t.Run(face.name, func(t *testing.T) {
			const (
				patience = 25 * time.Millisecond
				early    = 150 * time.Millisecond
			)
			defer s.proxy.Pass()
			rdb := newClient(t, redis.Options{Addr: s.proxy.Addr()})
			l := newLocker(t, face.of(t, rdb), lock.Options{})
			warm(t, l)
			s.proxy.Delay(100*time.Millisecond, 100*time.Millisecond)
			best := soon
			for range 5 { // the machine may be slow, too
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				begun := time.Now()
				_, err := l.Acquire(ctx, t.Name())
				took := time.Since(begun)
				cancel()
				require.ErrorIs(t, err, lock.ErrUnavailable)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.GreaterOrEqual(t, took, patience)
				best = min(best, took)
			}
			require.Less(t, best, early)
			s.proxy.Pass()
			release(t, acquire(t, l, t.Name()))
			s.noneHeld(t)
		})
	}
}
