// Package memstore keeps idempotency records in the memory of one process. It
// is the reference for what an [idempotency.Store] does, the store of tests and
// examples, and a store for programs that run as one process and whose callers
// do not redeliver across its restarts: it excludes nobody in another process
// and forgets everything with its own.
//
// # What is kept
//
// Every key has one entry with its state and the instant at which that ends.
// An entry that has ended counts as absent at once; its memory is given back
// by a sweep soon after. Time is [time.Now], so a test under [testing/synctest]
// decides how it passes; it is the monotonic clock, which a step of the wall
// clock does not touch.
//
// A fence is the key's last one plus one or the time in microseconds since
// 1970, whichever is greater, so that fences go on rising after the entry was
// forgotten. That time is the wall clock's when the Store was made plus what
// has passed since.
//
// # What happens when it is full
//
// A Store is bounded by entries and by bytes. At the bound it refuses what
// would begin something: Begin of a key that has no entry, and a new binding,
// are answered with [ErrFull]. It never forgets anything before its time to make
// room: a claim forgotten is a second owner, and a record forgotten is an event
// that takes effect twice. For the same reason it never refuses an outcome, so
// that the results of runs that were under way when the bound was reached may
// exceed it.
//
// # Housekeeping
//
// A timer sweeps ended entries, in steps so short that they delay no call. It
// is set only while there is something that can end, so an empty Store costs
// nothing; [Store.Close] stops it.
package memstore

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"sync/atomic"
	"time"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/internal/notice"
	"github.com/semel-go/semel/lock"
)

var (
	_ idempotency.Store        = (*Store)(nil)
	_ idempotency.BatchRenewer = (*Store)(nil)
	_ idempotency.Binder       = (*Store)(nil)
	_ idempotency.Inspector    = (*Store)(nil)
	_ lock.Interruptible       = (*Store)(nil)
	_ lock.Waiter              = (*Store)(nil)
)

// What a Store reports besides the errors that [idempotency.Store] names. Match
// them with [errors.Is]: they arrive wrapped.
var (
	// ErrFull: the Store has reached one of its bounds and keeps nothing new
	// until something has ended. Nothing was changed. It is not contention: a
	// Guard reports it as unavailable.
	ErrFull = errors.New("memstore: full")
	// ErrClosed: the Store was closed. Nothing was changed.
	ErrClosed = errors.New("memstore: closed")
)

// Options configures [New]. The zero value is ready to use.
type Options struct {
	// MaxEntries is how many keys and bindings are kept at most.
	// Default: 1,000,000.
	MaxEntries int
	// MaxBytes is how much memory they may take, in bytes: about 300 for each,
	// and what its record's body and label hold.
	// Default: 512 MiB.
	MaxBytes int64
}

const (
	defaultMaxEntries = 1_000_000
	defaultMaxBytes   = 512 << 20
)

// withDefaults returns o with its zero fields filled in.
func (o Options) withDefaults() Options {
	if o.MaxEntries == 0 {
		o.MaxEntries = defaultMaxEntries
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = defaultMaxBytes
	}
	return o
}

// validate reports every field that is out of its range.
func (o Options) validate() error {
	var errs []error
	if o.MaxEntries < 0 {
		errs = append(errs, fmt.Errorf("memstore: MaxEntries is %d, want at least 1: %w", o.MaxEntries, idempotency.ErrInvalid))
	}
	if o.MaxBytes < 0 {
		errs = append(errs, fmt.Errorf("memstore: MaxBytes is %d, want at least 1: %w", o.MaxBytes, idempotency.ErrInvalid))
	}
	return errors.Join(errs...)
}

// Store is an idempotency.Store in memory. Make it with [New]. All methods are
// safe for concurrent use and none blocks. A method whose context has already
// ended does nothing and returns an error that wraps the context's.
type Store struct {
	seed  maphash.Seed
	start time.Time
	limit Options

	entries atomic.Int64
	bytes   atomic.Int64
	closed  atomic.Bool

	// Records and bindings are kept alike and apart.
	records, bindings table

	board   notice.Board
	sweeper sweeper
}

// New returns an empty Store. It starts nothing until there is something that
// can end; from then on, until all of it has, a timer is set. Close it.
//
// Error: [idempotency.ErrInvalid] for an option out of its range.
func New(o Options) (*Store, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	s := &Store{seed: maphash.MakeSeed(), start: time.Now(), limit: o.withDefaults()}
	for _, t := range s.tables() {
		for i := range t {
			t[i].store = s
		}
	}
	s.sweeper.init(s)
	return s, nil
}

// Close stops the sweeping and waits until a sweep under way is over. Methods
// called later return [ErrClosed], so close a Guard on the Store first: it has
// outcomes to record. Listeners are closed by whoever opened them. The error is
// always nil. Closing twice is closing once.
func (s *Store) Close() error {
	s.closed.Store(true)
	s.sweeper.close()
	return nil
}

// Size returns how many keys and bindings the Store keeps, those included that
// have ended and are not swept yet, and about how many bytes they take. It is
// what is measured against [Options].
func (s *Store) Size() (entries int, bytes int64) {
	return int(s.entries.Load()), s.bytes.Load()
}

// Interruptible implements [lock.Interruptible]. It is true: no method ever
// blocks, so none needs a goroutine that could be left behind.
func (s *Store) Interruptible() bool { return true }

// now is the time since the Store was made.
func (s *Store) now() int64 { return int64(time.Since(s.start)) }

// wall is the wall clock's time at the instant now, whatever steps the clock
// has made since the Store was made.
func (s *Store) wall(now int64) time.Time { return s.start.Add(time.Duration(now)) }

// fence returns a fence that is greater than last and than all that were given
// out while the clock was lower.
func (s *Store) fence(last uint64, now int64) uint64 {
	return max(last+1, uint64(max(s.wall(now).UnixMicro(), 0)))
}

// tables returns the two tables.
func (s *Store) tables() [2]*table { return [2]*table{&s.records, &s.bindings} }

// check refuses to work for a context that has ended, or when closed.
func (s *Store) check(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("memstore: %w", err)
	}
	if s.closed.Load() {
		return ErrClosed
	}
	return nil
}

// checkRange refuses a duration that is not between the shortest lease and
// longest, naming the field.
func checkRange(field string, d, longest time.Duration) error {
	if d < idempotency.MinLease || d > longest {
		return fmt.Errorf("memstore: %s %v is not between %v and %v: %w",
			field, d, idempotency.MinLease, longest, idempotency.ErrInvalid)
	}
	return nil
}
