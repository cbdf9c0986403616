package idempotencytest

import (
	"testing"
	"time"

	"github.com/semel-go/semel/idempotency"
)

// Harness tells the suite how to come by the store under test.
type Harness struct {
	// New makes an empty store for one law and registers its clean-up on t.
	// Laws run in parallel: two stores share no keys, whatever else they may
	// share. Required.
	New func(t *testing.T) Store
	// Isolate runs one law. Default: law is called as it is. A store that keeps
	// time by [time.Now] in this process uses [testing/synctest.Test], and no
	// law of its suite takes any time.
	Isolate func(t *testing.T, law func(*testing.T))
	// Features is what the store has.
	Features Features
}

// Store is a store under test and what the suite may do to it. Its functions
// report failure on the t that New was given.
type Store struct {
	// Store is what is tested. Required.
	Store idempotency.Store
	// Advance lets d pass by the store's clock. Default: [time.Sleep].
	Advance func(d time.Duration)
	// Rewind remembers what the store holds now. The restore that it returns
	// makes the store hold that again, or less, as a restart from an old
	// snapshot does, and returns a store on it. Default: the laws about lost
	// data are skipped.
	Rewind func() (restore func() idempotency.Store)
	// Scan looks at all that the store holds and fails the test if some of it
	// has no expiry. It is called after each law. Default: what an Inspector
	// lists is looked at, if the store is one.
	Scan func()
}

// Features is what a store has. What it does not have is not tested.
type Features struct {
	// Waiting: the store is a lock.Waiter.
	Waiting bool
	// Batch: the store is an [idempotency.BatchRenewer].
	Batch bool
	// Bind: the store is an [idempotency.Binder].
	Bind bool
	// Inspect: the store is an [idempotency.Inspector].
	Inspect bool
	// FrozenClock: the store's clock stands still but for [Store.Advance], and
	// so does not pass along with the test's own clock. Laws that need both,
	// like those about renewal, are skipped.
	FrozenClock bool
	// MaxBody is the longest body that a record may have, in bytes.
	// Default: 1 MiB.
	MaxBody int
	// Granularity is how late the store may be in ending a lease. Default: 0.
	Granularity time.Duration
}

// defaultMaxBody is what the laws about bodies use unless told otherwise.
const defaultMaxBody = 1 << 20

// ability is something a law needs.
type ability string

const (
	waiting    ability = "waiting"
	batch      ability = "batches"
	binding    ability = "bindings"
	inspection ability = "inspection"
	// passing is a store whose clock passes along with the test's.
	passing ability = "a passing clock"
)

func (f Features) has(a ability) bool {
	switch a {
	case waiting:
		return f.Waiting
	case batch:
		return f.Batch
	case binding:
		return f.Bind
	case inspection:
		return f.Inspect
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

// laws returns all laws, those of the Store first.
func laws() []law {
	var all []law
	for _, some := range [][]law{
		claimLaws(), resendLaws(), expiryLaws(), renewLaws(), completeLaws(), recordLaws(), finalityLaws(),
		releaseLaws(), attemptLaws(), unknownLaws(), compensationLaws(), fenceLaws(), keyLaws(), inputLaws(),
		waitingLaws(), batchLaws(), bindingLaws(), inspectionLaws(), operatorLaws(),
		guardLaws(),
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
		t.Fatal("idempotencytest: Harness.New is nil")
	}
	if h.Isolate == nil {
		h.Isolate = func(t *testing.T, law func(*testing.T)) { law(t) }
	}
	if h.Features.MaxBody == 0 {
		h.Features.MaxBody = defaultMaxBody
	}
	for _, l := range laws() {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			t.Log("why: " + l.why)
			for _, a := range l.needs {
				if !h.Features.has(a) {
					t.Skipf("the store's features do not include %s", a)
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
