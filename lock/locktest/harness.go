package locktest

import (
	"testing"
	"time"

	"github.com/semel-go/semel/lock"
)

// Harness tells the suite how to come by the backend under test.
type Harness struct {
	// New makes an empty store for one law and registers its clean-up on t.
	// Laws run in parallel: two stores share no keys, whatever else they may
	// share. Required.
	New func(t *testing.T) Store
	// Isolate runs one law. Default: law is called as it is. A store that keeps
	// time by [time.Now] in this process uses [testing/synctest.Test], and no
	// law of its suite takes any time.
	Isolate func(t *testing.T, law func(*testing.T))
	// Features is what the backend has.
	Features Features
}

// Store is a backend under test and what the suite may do to the store behind
// it. Its functions report failure on the t that New was given.
type Store struct {
	// Backend is what is tested. Required.
	Backend lock.Backend
	// Advance lets d pass by the store's clock. Default: [time.Sleep].
	Advance func(d time.Duration)
	// Rewind remembers what the store holds now. The restore that it returns
	// makes the store hold that again, or less, as a restart from an old
	// snapshot does, and returns a backend on it. Default: the laws about lost
	// data are skipped.
	Rewind func() (restore func() lock.Backend)
	// Scan looks at all that the store holds and fails the test if some of it
	// has no expiry. It is called after each law. Default: what an Inspector
	// lists is looked at, if the backend is one.
	Scan func()
}

// Features is what a backend has. What it does not have is not tested.
type Features struct {
	// Fencing: grants carry fences.
	Fencing bool
	// Waiting: the backend is a [lock.Waiter].
	Waiting bool
	// Batch: the backend is a [lock.BatchExtender].
	Batch bool
	// Inspect: the backend is a [lock.Inspector].
	Inspect bool
	// Raise: the backend is a [lock.Raiser].
	Raise bool
	// FrozenClock: the store's clock stands still but for [Store.Advance], and
	// so does not pass along with the test's own clock. Laws that need both,
	// like those about renewal, are skipped.
	FrozenClock bool
	// MinTTL is the shortest TTL the backend takes. Default: [lock.MinTTL].
	MinTTL time.Duration
	// Granularity is how late the store may be in ending a lease. Default: 0.
	Granularity time.Duration
}

// ability is something a law needs.
type ability string

const (
	fencing    ability = "fencing"
	waiting    ability = "waiting"
	batch      ability = "batches"
	inspection ability = "inspection"
	raising    ability = "raising"
	// passing is a store whose clock passes along with the test's.
	passing ability = "a passing clock"
)

func (f Features) has(a ability) bool {
	switch a {
	case fencing:
		return f.Fencing
	case waiting:
		return f.Waiting
	case batch:
		return f.Batch
	case inspection:
		return f.Inspect
	case raising:
		return f.Raise
	case passing:
		return !f.FrozenClock
	}
	return false
}

// law is one test, and why it exists.
type law struct {
	name  string
	why   string
	needs []ability
	test  func(*probe)
}

// laws returns all laws, those of the Backend first.
func laws() []law {
	var all []law
	for _, some := range [][]law{
		ownershipLaws(), expiryLaws(), releaseLaws(), keptLaws(), extendLaws(),
		compensationLaws(), fenceLaws(), blockLaws(), waitingLaws(), inputLaws(),
		batchLaws(), inspectionLaws(), lockerLaws(),
	} {
		all = append(all, some...)
	}
	return all
}

// Run tests every law in a parallel subtest named after it. The reason for a
// law is shown with its failure, and of every law with -v.
func Run(t *testing.T, h Harness) {
	t.Helper()
	if h.New == nil {
		t.Fatal("locktest: Harness.New is nil")
	}
	if h.Isolate == nil {
		h.Isolate = func(t *testing.T, law func(*testing.T)) { law(t) }
	}
	if h.Features.MinTTL == 0 {
		h.Features.MinTTL = lock.MinTTL
	}
	for _, l := range laws() {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			t.Log("why: " + l.why)
			for _, a := range l.needs {
				if !h.Features.has(a) {
					t.Skipf("the backend's features do not include %s", a)
				}
			}
			h.Isolate(t, func(t *testing.T) {
				p := newProbe(t, h)
				l.test(p)
				p.scan()
			})
		})
	}
}
