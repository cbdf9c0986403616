package idempotency

import (
	"errors"
	"fmt"
	"time"

	"github.com/semel-go/semel/observe"
)

// Options says how a Guard claims, keeps and records. The zero value is safe:
// every field has a default.
type Options struct {
	// Lease is how long a claim is kept if nothing more is heard of its owner:
	// how long a crash blocks the key. While the run goes on it is renewed at
	// a third of it. From MinLease to MaxLease.
	// Default: 30 s.
	Lease time.Duration

	// Retention is how long an outcome is kept and replayed. It must be longer
	// than any sender goes on sending, resends by hand included. At least the
	// Lease, at most MaxRetention.
	// Default: 24 h.
	Retention time.Duration

	// Wait is how long a duplicate waits for a run that is under way, to
	// replay its outcome or take over from it.
	// Default: 0, it is refused at once with ErrInProgress.
	Wait time.Duration

	// Timeout bounds each single request to the store, whether or not the
	// client library keeps deadlines. Only a call with a context that can never
	// end, as context.Background, waits for the client library's own timeouts,
	// as with lock.Options.Timeout.
	// Default: 1 s, or the Lease if that is shorter.
	Timeout time.Duration

	// Margin is by how much the time for which a claim is trusted is shorter
	// than its lease. It pays for the drift between the store's clock and ours.
	// Default: a hundredth of the Lease + 2 ms.
	Margin time.Duration

	// UnknownFor is how long a key is held whose outcome is unknown. At most
	// MaxRetention.
	// Default: the Retention.
	UnknownFor time.Duration

	// CompleteFor is how long a Guard goes on, in the background, to record an
	// outcome that the store did not take. Meanwhile the claim is renewed as
	// far as possible.
	// Default: 10 min.
	CompleteFor time.Duration

	// StubFor is how long, after a run that ended without an outcome, its
	// attempt is remembered and a copy of its claim that comes late is
	// refused. At most MaxRetention.
	// Default: the Lease, at least a minute.
	StubFor time.Duration

	// MaxResult is the largest result, in bytes, that is recorded. Of a larger
	// one a tombstone is kept: its duplicates get ErrResultUnavailable, and
	// never run. NoResults records none.
	// Default: 256 KiB.
	MaxResult int

	// KeepID keeps the readable scope and id in the record, for operators.
	// They are then visible to whoever can read the store.
	// Default: false, only their digest is there.
	KeepID bool

	// FailOpen runs without a claim, and tells the observer so, if the store
	// is not available. An event may then take effect any number of times.
	// Default: false, it does not run: ErrUnavailable.
	FailOpen bool

	// Compression compresses large results.
	// Default: off.
	Compression Compression

	// Encryption encrypts results.
	// Default: off.
	Encryption Encryption

	// Cache keeps completed records in memory. New makes it; a Guard made by
	// With shares it, whatever its own says.
	// Default: off.
	Cache LocalCache

	// Observer is told what happens. Its events' Key is the key's digest.
	// Default: nobody.
	Observer observe.Observer
}

// NoResults, as Options.MaxResult, records outcomes without results.
const NoResults = -1

// The defaults of Options.
const (
	defaultLease       = 30 * time.Second
	defaultRetention   = 24 * time.Hour
	defaultTimeout     = time.Second
	defaultCompleteFor = 10 * time.Minute
	minStubFor         = time.Minute
	defaultMaxResult   = 256 << 10
	driftShare         = 100 // a hundredth: far above what quartz clocks drift
	marginFloor        = 2 * time.Millisecond
)

// RunOptions are what one call of Run may set for itself. Its zero fields mean
// what the Guard's Options say.
type RunOptions struct {
	// Fingerprint is a digest of what the key is used for; see FingerprintOf.
	// A duplicate whose fingerprint differs gets ErrMismatch. The zero one is
	// compared with nothing.
	Fingerprint Fingerprint
	// Lease, Retention, Wait, UnknownFor, MaxResult and FailOpen stand for
	// those of Options. NoWait undoes a Wait of the Guard's.
	Lease, Retention, Wait, UnknownFor time.Duration
	MaxResult                          int
	FailOpen                           bool
}

// NoWait, as Wait, refuses a duplicate at once.
const NoWait time.Duration = -1

// overlay returns o with the non-zero fields of over in their place.
func (o Options) overlay(over Options) Options {
	set(&o.Lease, over.Lease)
	set(&o.Retention, over.Retention)
	set(&o.Wait, over.Wait)
	set(&o.Timeout, over.Timeout)
	set(&o.Margin, over.Margin)
	set(&o.UnknownFor, over.UnknownFor)
	set(&o.CompleteFor, over.CompleteFor)
	set(&o.StubFor, over.StubFor)
	set(&o.MaxResult, over.MaxResult)
	set(&o.KeepID, over.KeepID)
	set(&o.FailOpen, over.FailOpen)
	if over.Compression.Above != 0 || over.Compression.With != nil || over.Compression.Also != nil {
		o.Compression = over.Compression
	}
	if over.Encryption.Current != "" || over.Encryption.Keys != nil || over.Encryption.AllowPlain {
		o.Encryption = over.Encryption
	}
	if o.Cache == (LocalCache{}) {
		o.Cache = over.Cache
	}
	if over.Observer != nil {
		o.Observer = over.Observer
	}
	return o
}

// set stores v in field unless it is zero.
func set[T comparable](field *T, v T) {
	var zero T
	if v != zero {
		*field = v
	}
}

// run returns o as ro changes it.
func (o Options) run(ro RunOptions) Options {
	set(&o.Lease, ro.Lease)
	set(&o.Retention, ro.Retention)
	set(&o.Wait, ro.Wait)
	set(&o.UnknownFor, ro.UnknownFor)
	set(&o.MaxResult, ro.MaxResult)
	set(&o.FailOpen, ro.FailOpen)
	return o
}

// withDefaults returns o with its zero fields filled in.
func (o Options) withDefaults() Options {
	if o.Lease == 0 {
		o.Lease = defaultLease
	}
	if o.Retention == 0 {
		o.Retention = max(defaultRetention, o.Lease)
	}
	if o.Wait == NoWait {
		o.Wait = 0
	}
	if o.Timeout == 0 {
		o.Timeout = min(defaultTimeout, o.Lease)
	}
	if o.Margin == 0 {
		o.Margin = o.Lease/driftShare + marginFloor
	}
	if o.UnknownFor == 0 {
		o.UnknownFor = o.Retention
	}
	if o.CompleteFor == 0 {
		o.CompleteFor = defaultCompleteFor
	}
	if o.StubFor == 0 {
		o.StubFor = max(o.Lease, minStubFor)
	}
	if o.MaxResult == 0 {
		o.MaxResult = defaultMaxResult
	}
	return o
}

// validate reports every field that is out of range; o has its defaults.
func (o Options) validate() error {
	var errs []error
	bad := func(field string, value any, rule string) {
		errs = append(errs, fmt.Errorf("%w: Options.%s is %v, must be %s", ErrInvalid, field, value, rule))
	}
	if o.Lease < MinLease || o.Lease > MaxLease {
		bad("Lease", o.Lease, fmt.Sprintf("from %v to %v", MinLease, MaxLease))
	} else {
		if o.Margin < 0 || o.Margin >= o.Lease {
			bad("Margin", o.Margin, fmt.Sprintf("at least 0 and below the Lease (%v)", o.Lease))
		}
		if o.Retention < o.Lease || o.Retention > MaxRetention {
			bad("Retention", o.Retention, fmt.Sprintf("from the Lease (%v) to %v", o.Lease, MaxRetention))
		}
	}
	if o.Wait < 0 {
		bad("Wait", o.Wait, "at least 0, or NoWait")
	}
	if o.Timeout <= 0 {
		bad("Timeout", o.Timeout, "positive")
	}
	if o.CompleteFor <= 0 {
		bad("CompleteFor", o.CompleteFor, "positive")
	}
	if o.UnknownFor < MinLease || o.UnknownFor > MaxRetention {
		bad("UnknownFor", o.UnknownFor, fmt.Sprintf("from %v to %v", MinLease, MaxRetention))
	}
	if o.StubFor < MinLease || o.StubFor > MaxRetention {
		bad("StubFor", o.StubFor, fmt.Sprintf("from %v to %v", MinLease, MaxRetention))
	}
	if o.MaxResult < NoResults || o.MaxResult > maxData {
		bad("MaxResult", o.MaxResult, fmt.Sprintf("at most %d bytes, or NoResults", maxData))
	}
	return errors.Join(errs...)
}
