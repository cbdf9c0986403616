package integration_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/redistest"
	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/observe"
)

// The client sends an acquire again whose reply was lost. It is known by its
// nonce: one grant, which is ours.
func TestAcquireReplyLostIsOurs(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	acquiring := calls(t, "acquire")
	for _, face := range faces() {
		for name, fate := range map[string]redistest.Fate{
			"cut off":   redistest.DropReply,
			"half-open": redistest.LoseReply,
		} {
			t.Run(face.name+" "+name, func(t *testing.T) {
				rdb := newClient(t, redis.Options{Addr: s.proxy.Addr(), ReadTimeout: 500 * time.Millisecond})
				l := newLocker(t, face.of(t, rdb), lock.Options{})
				warm(t, l)
				var sent atomic.Int32
				s.proxy.OnRequest(func(args []string) redistest.Action {
					if acquiring(args) && sent.Add(1) == 1 {
						return redistest.Action{Fate: fate}
					}
					return redistest.Action{}
				})
				defer s.proxy.OnRequest(nil)
				lease, err := l.TryAcquire(t.Context(), t.Name())
				require.NoError(t, err)
				require.Equal(t, s.look(t, t.Name()).Fence, lease.Fence(), "one grant, not two")
				require.Greater(t, sent.Load(), int32(1))
				release(t, lease)
				require.Equal(t, lock.StateFree, s.look(t, t.Name()).State)
			})
		}
	}
}

// When no reply comes at all, the acquire is cleanly not ours: the caller is
// told that the store is unavailable, and the key is free again long before its
// TTL is over.
func TestAcquireReplyLostIsUndone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	acquiring := calls(t, "acquire")
	for _, face := range faces() {
		for name, fate := range map[string]redistest.Fate{
			"cut off":   redistest.DropReply,
			"half-open": redistest.LoseReply,
		} {
			t.Run(face.name+" "+name, func(t *testing.T) {
				d := &diary{}
				rdb := newClient(t, redis.Options{Addr: s.proxy.Addr(), ReadTimeout: 300 * time.Millisecond, MaxRetries: 1})
				l := newLocker(t, face.of(t, rdb), lock.Options{Observer: d})
				warm(t, l)
				var sent atomic.Int32
				s.proxy.OnRequest(func(args []string) redistest.Action {
					if acquiring(args) {
						sent.Add(1)
						return redistest.Action{Fate: fate}
					}
					return redistest.Action{}
				})
				defer s.proxy.OnRequest(nil)
				for _, timeout := range []time.Duration{50 * time.Millisecond, soon} {
					_, err := l.With(lock.Options{Timeout: timeout}).TryAcquire(t.Context(), t.Name())
					require.ErrorIs(t, err, lock.ErrUnavailable)
					require.NotErrorIs(t, err, lock.ErrNotAcquired)
				}
				eventually(t, "both are undone", func() bool { return len(d.of(observe.Compensated)) == 2 })
				require.Empty(t, s.held(t))
				require.Positive(t, sent.Load())
				require.Empty(t, d.of(observe.CompensationFailed))

				// Who waits goes on by itself when the store answers again.
				before := sent.Load()
				waiting := acquireLater(t.Context(), l, t.Name())
				eventually(t, "the waiter asks", func() bool { return sent.Load() > before })
				s.proxy.OnRequest(nil)
				got := await(t, waiting, "the key after lost replies")
				require.NoError(t, got.err)
				release(t, got.lease)
				s.noneHeld(t)
			})
		}
	}
}

func TestReleaseReplyLost(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	releasing := calls(t, "release")
	// lose loses the replies to the first n releases.
	lose := func(n int32, then redistest.Action) {
		var sent atomic.Int32
		s.proxy.OnRequest(func(args []string) redistest.Action {
			if !releasing(args) {
				return redistest.Action{}
			}
			if sent.Add(1) <= n {
				return redistest.Action{Fate: redistest.DropReply}
			}
			return then
		})
	}
	for _, face := range faces() {
		t.Run(face.name, func(t *testing.T) {
			key := t.Name()
			d := &diary{}
			eager := newLocker(t, face.of(t, newClient(t, redis.Options{Addr: s.proxy.Addr()})), lock.Options{Observer: d})
			once := newLocker(t, face.of(t, newClient(t, redis.Options{Addr: s.proxy.Addr(), MaxRetries: -1})), lock.Options{})
			other := newLocker(t, s.rdb, lock.Options{})
			defer s.proxy.OnRequest(nil)
			warm(t, eager)
			warm(t, once)

			// The client sends it again.
			lease := acquire(t, eager, key)
			lose(1, redistest.Action{})
			require.NoError(t, lease.Release(t.Context()))
			require.Equal(t, lock.StateFree, s.look(t, key).State)
			require.Empty(t, d.of(observe.ReleaseUnsure))

			// So does the caller.
			lease = acquire(t, once, key)
			lose(1, redistest.Action{})
			require.ErrorIs(t, lease.Release(t.Context()), lock.ErrUnavailable)
			require.Equal(t, lock.StateFree, s.look(t, key).State)
			require.NoError(t, lease.Release(t.Context()))
			require.NoError(t, lease.Release(t.Context()))

			// By the time the client does, another has the key.
			lease = acquire(t, eager, key)
			waiting := acquireLater(t.Context(), other, key)
			eventually(t, "another waits", func() bool { return s.look(t, key).Waiters })
			lose(1, redistest.Action{Delay: 100 * time.Millisecond})
			require.NoError(t, lease.Release(t.Context()))
			got := await(t, waiting, "the key that was released")
			require.NoError(t, got.err)
			require.Equal(t, lock.StateHeld, s.look(t, key).State, "nobody gives back what is another's")
			require.NoError(t, got.lease.Release(t.Context()))
		})
	}
}

// A caller that gives its lease back in time and is not answered, and tries
// again when another has the key already, has not run at the same time as
// anybody: it must not be told that its lease was lost.
func TestReleaseRetriedWhenAnotherHasTheKey(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	releasing := calls(t, "release")
	once := newLocker(t, newClient(t, redis.Options{Addr: s.proxy.Addr(), MaxRetries: -1}), lock.Options{})
	other := newLocker(t, s.rdb, lock.Options{})
	warm(t, once)
	lease := acquire(t, once, "k")
	s.proxy.OnRequest(func(args []string) redistest.Action {
		if releasing(args) {
			return redistest.Action{Fate: redistest.DropReply}
		}
		return redistest.Action{}
	})
	require.ErrorIs(t, lease.Release(t.Context()), lock.ErrUnavailable)
	s.proxy.OnRequest(nil)
	taken := acquire(t, other, "k")
	require.NoError(t, lease.Release(t.Context()))
	require.NoError(t, lease.Release(t.Context()))
	require.Equal(t, lock.StateHeld, s.look(t, "k").State, "nobody gives back what is another's")
	release(t, taken)
}

// A copy of an acquire that the network kept back changes nothing, whatever has
// become of the key.
func TestLateCopiesAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	acquiring := calls(t, "acquire")
	for _, face := range faces() {
		t.Run(face.name, func(t *testing.T) {
			d := &diary{}
			rdb := newClient(t, redis.Options{Addr: s.proxy.Addr(), MaxRetries: -1})
			l := newLocker(t, face.of(t, rdb), lock.Options{Observer: d})
			other := newLocker(t, s.rdb, lock.Options{})
			warm(t, l)
			s.proxy.Duplicate(acquiring)
			defer s.proxy.Duplicate(nil)

			released, taken := face.name+" released", face.name+" taken"
			undone, undoneAndTaken := face.name+" undone", face.name+" undone and taken"
			release(t, acquire(t, l, released))
			release(t, acquire(t, l, taken))
			for i, key := range []string{undone, undoneAndTaken} {
				s.proxy.OnRequest(func(args []string) redistest.Action {
					if acquiring(args) {
						return redistest.Action{Fate: redistest.CutBefore} // only the copy is left
					}
					return redistest.Action{}
				})
				_, err := l.TryAcquire(t.Context(), key)
				require.ErrorIs(t, err, lock.ErrUnavailable)
				s.proxy.OnRequest(nil)
				eventually(t, "it is undone", func() bool { return len(d.of(observe.Compensated)) == i+1 })
			}
			s.proxy.Duplicate(nil)
			others := []*lock.Lease{acquire(t, other, taken), acquire(t, other, undoneAndTaken)}

			replies, err := s.proxy.SendCopies()
			require.NoError(t, err)
			require.Len(t, replies, 4)
			for _, reply := range replies {
				require.Negative(t, reply, "refused")
			}
			for _, key := range []string{released, undone} {
				require.Equal(t, lock.StateFree, s.look(t, key).State)
				require.Equal(t, int64(-1), replies[0], "spent")
				release(t, acquire(t, other, key))
			}
			for _, lease := range others {
				require.Equal(t, lease.Fence(), s.look(t, lease.Key()).Fence)
				release(t, lease)
			}
		})
	}
}

// Connections that are dead without saying so fail in time, and do not keep
// those that come after them from the store, nor a waiter from a key whose
// release it cannot hear.
func TestHalfOpenConnections(t *testing.T) {
	t.Parallel()
	for _, face := range faces() {
		t.Run(face.name, func(t *testing.T) {
			s := newSite(t)
			rdb := newClient(t, redis.Options{Addr: s.proxy.Addr(), ReadTimeout: 500 * time.Millisecond})
			l := newLocker(t, face.of(t, rdb), lock.Options{})
			hurried := l.With(lock.Options{Timeout: 200 * time.Millisecond, Wait: 400 * time.Millisecond})
			holder := newLocker(t, s.rdb, lock.Options{TTL: 1500 * time.Millisecond, NoRenew: true})
			warm(t, l)
			acquire(t, holder, "held")
			waiting := acquireLater(t.Context(), l, "held")
			eventually(t, "the waiter listens", func() bool {
				return len(s.rdb.PubSubChannels(t.Context(), lockPrefix+"held").Val()) == 1
			})
			s.proxy.HalfOpen()
			begun := time.Now()
			_, err := hurried.TryAcquire(t.Context(), "k")
			require.ErrorIs(t, err, lock.ErrUnavailable)
			_, err = hurried.Acquire(t.Context(), "k")
			require.ErrorIs(t, err, lock.ErrUnavailable)
			require.Less(t, time.Since(begun), 20*time.Second)
			s.proxy.Pass()

			begun = time.Now()
			release(t, acquire(t, l, "k"))
			got := await(t, waiting, "the key whose release went unheard")
			require.NoError(t, got.err)
			require.Less(t, time.Since(begun), 20*time.Second)
			release(t, got.lease)
			s.noneHeld(t)
		})
	}
}
