package observe

import "time"

// Kind names what happened. Its text is stable and short, fit for a metric's
// label; new kinds may be added in any release.
type Kind string

// What a lock reports.
const (
	// Acquired: a lease was granted. Wait is the time from the call to the
	// grant, Ahead the number of callers of this process that stood before it
	// in the queue when it came.
	Acquired Kind = "acquired"
	// Contended: the key was found held, by this process or by another. It is
	// told once per call, when the call is first refused.
	Contended Kind = "contended"
	// NotAcquired: a call gave up waiting. Err says why.
	NotAcquired Kind = "not_acquired"
	// Unavailable: the store could not be asked, or did not answer in time.
	Unavailable Kind = "unavailable"
	// Renewed: the keeper extended a lease.
	Renewed Kind = "renewed"
	// RenewFailed: an extension failed in a way that may pass; it is retried
	// while the trust window is open.
	RenewFailed Kind = "renew_failed"
	// Lost: the lease can no longer be trusted. Err matches lock.ErrLost.
	Lost Kind = "lost"
	// Released: the key was given back to the store. Held is the time it was
	// owned.
	Released Kind = "released"
	// ReleaseUnsure: a release that began inside the trust window found the
	// key already free or taken. An unanswered copy of the release itself is
	// the likely cause, so the caller was told success.
	ReleaseUnsure Kind = "release_unsure"
	// ReleaseFailed: a release was not answered. The key frees itself when its
	// TTL is over.
	ReleaseFailed Kind = "release_failed"
	// HandedOver: the lease went to the next waiter of the same process
	// without asking the store.
	HandedOver Kind = "handed_over"
	// Compensated: an acquire whose answer never came was undone.
	Compensated Kind = "compensated"
	// CompensationFailed: such an acquire could not be undone. If it reached
	// the store, its key is held by nobody until its TTL is over.
	CompensationFailed Kind = "compensation_failed"
)

// Event is one thing that happened. Fields that do not apply are zero.
type Event struct {
	// Time is when the event was made.
	Time time.Time
	// Kind says what happened.
	Kind Kind
	// Key is the lock's key as the caller gave it. It may hold personal data
	// and has no bound on its cardinality: do not use it as a metric's label,
	// and log [Event.Digest] in its stead.
	Key string
	// Digested says that Key is a digest already, as those of package
	// idempotency are: the name by which cmd/semel knows the record. It may be
	// logged as it is.
	Digested bool
	// Fence is the fencing token of the lease that the event is about.
	Fence uint64
	// Wait is how long the caller waited.
	Wait time.Duration
	// Held is how long the lease was owned.
	Held time.Duration
	// Ahead is the number of callers of this process that stood before this
	// one in the key's queue when it came.
	Ahead int
	// Mode and Epoch are what a failover lock has come to.
	Mode  string
	Epoch uint64
	// Err is the cause of a failure.
	Err error
}
