package integration_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/redistest"
	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/observe"
)

// fenceBook holds the last fence of each key. Owners write into it while they
// own the key.
type fenceBook struct {
	t      *testing.T
	mu     sync.Mutex
	last   map[string]uint64
	grants int
}

func newFenceBook(t *testing.T) *fenceBook {
	return &fenceBook{t: t, last: map[string]uint64{}}
}

// note insists that a fence is greater than those before it.
func (b *fenceBook) note(lease *lock.Lease) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if last := b.last[lease.Key()]; lease.Fence() <= last {
		b.t.Errorf("key %q: fence %d after %d", lease.Key(), lease.Fence(), last)
	}
	b.last[lease.Key()] = lease.Fence()
	b.grants++
}

// bustle lets some callers of one Locker take each key some times, so that it
// is handed over, and notes every fence.
func (b *fenceBook) bustle(l *lock.Locker, times int, keys ...string) {
	b.t.Helper()
	const callers = 4
	var all sync.WaitGroup
	for _, key := range keys {
		for range callers {
			all.Go(func() {
				for range times {
					lease, err := l.Acquire(b.t.Context(), key)
					if err != nil {
						b.t.Errorf("Acquire: %v", err)
						return
					}
					b.note(lease)
					if err := lease.Release(b.t.Context()); err != nil {
						b.t.Errorf("Release: %v", err)
					}
				}
			})
		}
	}
	all.Wait()
	require.False(b.t, b.t.Failed())
}

// noScripts is how often a server did not know a script.
func noScripts(t *testing.T, s *redistest.Server) string {
	t.Helper()
	return errorsOf(t, s)["NOSCRIPT"]
}

func TestFenceAfterARestartWithoutData(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	d := &diary{}
	l := newLocker(t, newClient(t, redis.Options{Addr: s.Addr()}), lock.Options{Observer: d})
	other := newLocker(t, s.rdb, lock.Options{})
	book := newFenceBook(t)
	keys := []string{"a", "{b}", "c{}", "}{"}
	for range 3 {
		book.bustle(l, 20, keys...)
		lease := acquire(t, l, "held")
		book.note(lease)
		s.RestartEmpty()
		book.bustle(l, 20, keys...)

		// Another is granted the key that is still believed in. The fence tells
		// who came later, and the first cannot take it away.
		second := acquire(t, other, "held")
		book.note(second)
		_ = lease.Release(t.Context())
		info := s.look(t, "held")
		require.Equal(t, lock.StateHeld, info.State)
		require.Equal(t, second.Fence(), info.Fence)
		release(t, second)
	}
	require.NotEmpty(t, d.of(observe.HandedOver))
	require.NotEmpty(t, noScripts(t, s.Server), "it forgot the scripts as well")
}

func TestFenceAfterARestartFromAnOldSnapshot(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	d := &diary{}
	l := newLocker(t, newClient(t, redis.Options{Addr: s.Addr()}), lock.Options{Observer: d, TTL: 2 * time.Second})
	book := newFenceBook(t)
	keys := []string{"a", "{b}"}
	for range 2 {
		book.bustle(l, 10, keys...)
		lease := acquire(t, l, "held")
		book.note(lease)
		snapshot := s.Snapshot()
		release(t, lease)
		book.bustle(l, 50, append(keys, "held")...)
		s.RestartFrom(snapshot)
		// The snapshot has an owner who gave the key back long ago. It lasts
		// as long as a dead one's.
		book.bustle(l, 10, append(keys, "held")...)
	}
	require.NotEmpty(t, d.of(observe.HandedOver))
}

// The replica that is promoted has missed the last grants.
func TestFenceAfterAFailoverThatLostGrants(t *testing.T) {
	t.Parallel()
	group := redistest.StartReplicated(t)
	d := &diary{}
	rdb := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: group.MasterName(), SentinelAddrs: group.SentinelAddrs(),
	})
	t.Cleanup(func() { _ = rdb.Close() })
	l := newLocker(t, rdb, lock.Options{Observer: d, TTL: 2 * time.Second})
	book := newFenceBook(t)
	keys := []string{"a", "{b}"}
	book.bustle(l, 10, keys...)
	group.Master().HoldReplicas()
	before := book.grants
	book.bustle(l, 50, keys...)
	require.GreaterOrEqual(t, book.grants-before, 100)

	master := group.KillMaster()
	master.MustDo("SCRIPT", "FLUSH") // before Redis 7 it was sent them
	book.bustle(l, 10, keys...)
	require.NotEmpty(t, d.of(observe.HandedOver))
	require.NotEmpty(t, noScripts(t, master))
}

// A Locker goes on while the slot of its keys moves to another master, and no
// key is split over two slots, whatever braces it has.
func TestFenceWhileTheSlotMoves(t *testing.T) {
	t.Parallel()
	grid := redistest.StartCluster(t, 3)
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: grid.Addrs()})
	t.Cleanup(func() { _ = rdb.Close() })
	piped, err := rdb.AutoPipeline()
	require.NoError(t, err)
	d := &diary{}
	l := newLocker(t, rdb, lock.Options{Observer: d})
	other := newLocker(t, piped, lock.Options{})
	book := newFenceBook(t)
	keys := []string{"{moving}", "a{moving}", "{moving}{b}", "c{moving}}"}
	elsewhere := []string{"{", "}", "{}", "{}{moving}", "}{", "{{}}", "a{b}c{d}"}

	// round does all that a Locker does.
	round := func(step string) {
		t.Helper()
		book.bustle(l, 5, keys...)
		book.bustle(other, 3, append(elsewhere, "a{moving}")...)
		lease := acquire(t, l, keys[0])
		book.note(lease)
		waiting := acquireLater(t.Context(), other, keys[0])
		eventually(t, step+": another waits", func() bool {
			info, err := newBackend(t, rdb).Look(t.Context(), keys[0])
			require.NoError(t, err)
			return info.Waiters
		})
		require.NoError(t, lease.Extend(t.Context(), long))
		release(t, lease)
		got := await(t, waiting, step+": the key that was released")
		require.NoError(t, got.err)
		book.note(got.lease)
		release(t, got.lease)
	}
	slot := redistest.KeySlot(lockPrefix + keys[0])
	from, to := grid.NodeForSlot(slot), grid.Nodes()[0]
	if from == to {
		to = grid.Nodes()[1]
	}
	round("before")
	lease := acquire(t, l, "held{moving}")
	holds := func() {
		t.Helper()
		require.NoError(t, lease.Extend(t.Context(), long+time.Hour))
		require.True(t, lease.Valid())
	}
	moving := grid.MigrateSlot(slot, to)
	round("of some keys, none has moved")
	book.bustle(l, 3, "new{moving}") // is made where the slot goes
	holds()
	moving.MoveKeys(lockPrefix+keys[0], lockPrefix+keys[1], lockPrefix+"held{moving}")
	round("some keys have moved")
	holds()
	to.MustDo("SCRIPT", "FLUSH")
	moving.MoveKeys()
	round("all keys have moved")
	holds()
	moving.Finish()
	round("after")
	holds()
	release(t, lease)
	require.NotEmpty(t, d.of(observe.HandedOver))
	for i, node := range grid.Nodes() {
		counts := errorsOf(t, node)
		require.NotContains(t, counts, "CROSSSLOT", "node %d", i)
		require.NotContains(t, counts, "TRYAGAIN", "node %d", i)
	}
	require.Contains(t, errorsOf(t, from), "ASK", "the slot did move")
}

// A server that has forgotten the scripts is sent them again, in each thing that
// a Locker does.
func TestScriptFlush(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, face := range faces() {
		t.Run(face.name, func(t *testing.T) {
			d := &diary{}
			l := newLocker(t, face.of(t, newClient(t, redis.Options{Addr: s.Addr()})), lock.Options{Observer: d})
			flush := func() {
				s.MustDo("SCRIPT", "FLUSH")
				s.MustDo("CONFIG", "RESETSTAT")
			}
			flush()
			lease := acquire(t, l, "k")
			require.Equal(t, "1", noScripts(t, s.Server))
			flush()
			require.NoError(t, lease.Extend(t.Context(), long+time.Hour))
			require.Equal(t, "1", noScripts(t, s.Server))
			flush()
			release(t, lease)
			require.Equal(t, "1", noScripts(t, s.Server))

			// And in renewals of many at once.
			brief := l.With(lock.Options{TTL: 5 * time.Second})
			var leases []*lock.Lease
			for i := range 20 {
				leases = append(leases, acquire(t, brief, fmt.Sprint("k", i)))
			}
			flush()
			eventually(t, "all are renewed", func() bool { return len(d.of(observe.Renewed)) >= len(leases) })
			require.NotEmpty(t, noScripts(t, s.Server))
			for _, lease := range leases {
				require.True(t, lease.Valid())
				release(t, lease)
			}
		})
	}
}
