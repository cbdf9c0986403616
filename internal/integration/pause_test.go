package integration_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/redistest"
	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/observe"
)

// A holder that was stopped for two TTLs finds its lease lost at its very first
// look.
func TestHolderStoppedForTwoTTLs(t *testing.T) {
	t.Parallel()
	const ttl = 1500 * time.Millisecond
	s := newSite(t)
	other := newLocker(t, s.rdb, lock.Options{})
	holder := startDeputy(t, s.Addr(), ttl)
	fence := holder.acquire(t, "k")
	holder.tell(t, "watch", ttl)
	require.Equal(t, "watching", holder.answer(t))

	holder.signal(t, syscall.SIGSTOP)
	stopped := time.Now()
	taken := acquire(t, other, "k")
	require.Greater(t, taken.Fence(), fence)
	time.Sleep(time.Until(stopped.Add(2 * ttl)))
	holder.signal(t, syscall.SIGCONT)

	require.Equal(t, "valid false, ended true, lost true", holder.answer(t))
	holder.tell(t, "extend")
	require.Equal(t, "lost", holder.answer(t))
	holder.tell(t, "release")
	require.Equal(t, "lost", holder.answer(t))
	info := s.look(t, "k")
	require.Equal(t, lock.StateHeld, info.State)
	require.Equal(t, taken.Fence(), info.Fence)
	require.True(t, taken.Valid())
	release(t, taken)
}

// One renewal whose reply is lost is tried again while the window is open.
func TestOneLostRenewalReply(t *testing.T) {
	t.Parallel()
	for name, fate := range map[string]redistest.Fate{
		"cut off":   redistest.DropReply,
		"half-open": redistest.LoseReply,
		"not sent":  redistest.CutBefore,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const ttl = 3 * time.Second
			s := newSite(t)
			extending := calls(t, "extend")
			// Without retries of its own, so that the Locker sees the loss.
			rdb := newClient(t, redis.Options{Addr: s.proxy.Addr(), MaxRetries: -1, ReadTimeout: ttl / 3})
			unlessStalled(t, ttl/10, func() error {
				d := &diary{}
				l := newLocker(t, rdb, lock.Options{TTL: ttl, Observer: d})
				var sent atomic.Int32
				s.proxy.OnRequest(func(args []string) redistest.Action {
					if extending(args) && sent.Add(1) == 1 {
						return redistest.Action{Fate: fate}
					}
					return redistest.Action{}
				})
				defer s.proxy.OnRequest(nil)
				lease := acquire(t, l, "k")
				eventually(t, "a renewal, or the end", func() bool {
					return len(d.of(observe.Renewed))+len(d.of(observe.Lost)) > 0
				})
				err := context.Cause(lease.Context())
				_ = lease.Release(t.Context())
				if err != nil {
					return err
				}
				if failed := d.of(observe.RenewFailed); len(failed) != 1 {
					return fmt.Errorf("one renewal was lost, and these have failed: %v", failed)
				}
				require.Empty(t, d.of(observe.Lost))
				return nil
			})
		})
	}
}

// A renewal that the client does not come back from does not keep the lease
// alive: its context ends on time, also for who only waits for it.
func TestStalledRenewalDoesNotDelayTheEnd(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	extending := calls(t, "extend")
	for _, face := range faces() {
		t.Run(face.name, func(t *testing.T) {
			const ttl = 1500 * time.Millisecond
			// The client itself waits for minutes.
			rdb := newClient(t, redis.Options{Addr: s.proxy.Addr(), ReadTimeout: long, MaxRetries: -1})
			l := newLocker(t, face.of(t, rdb), lock.Options{TTL: ttl})
			warm(t, l)
			stalled := make(chan time.Time, 100)
			s.proxy.OnRequest(func(args []string) redistest.Action {
				if extending(args) {
					stalled <- time.Now()
					return redistest.Action{Fate: redistest.Lose}
				}
				return redistest.Action{}
			})
			lease := acquire(t, l, t.Name())
			derived, cancel := context.WithCancel(lease.Context())
			defer cancel()
			struck := await(t, stalled, "a renewal") // whose window was opened before
			for lease.Valid() {
				passed := time.Since(struck)
				require.False(t, passed >= ttl && lease.Valid(), "valid %v after its renewal stalled", passed)
				time.Sleep(time.Millisecond)
			}
			require.Error(t, lease.Context().Err())
			require.ErrorIs(t, context.Cause(lease.Context()), lock.ErrLost)
			await(t, derived.Done(), "the end of a context derived from the lease's")
			require.ErrorIs(t, context.Cause(derived), lock.ErrLost)

			s.proxy.OnRequest(nil)
			s.proxy.CutAll() // ends the calls that hang
			_ = lease.Release(t.Context())
		})
	}
}

// Whoever finds a lease not valid finds its context ended: there is no moment
// between the two.
func TestContextHasEndedWhenTheLeaseIsNotValid(t *testing.T) {
	t.Parallel()
	const (
		rounds  = 60
		lookers = 2
	)
	s := newSite(t)
	l := newLocker(t, s.rdb, lock.Options{TTL: 30 * time.Millisecond, NoRenew: true})
	var alive atomic.Int32
	for round := range rounds {
		lease := acquire(t, l, fmt.Sprint("k", round))
		ctx := lease.Context()
		var all sync.WaitGroup
		for range lookers {
			all.Go(func() {
				for lease.Valid() {
					continue // without a pause: the moment is short
				}
				if ctx.Err() == nil {
					alive.Add(1)
				}
			})
		}
		all.Wait()
	}
	require.Zero(t, alive.Load(), "contexts that went on when their leases were not valid any more")
}
