package observe

// What package idempotency reports, besides Acquired (a claim was granted),
// Contended, Renewed, RenewFailed, Lost, Unavailable, Compensated and
// CompensationFailed.
const (
	// Executed: a run ended and its outcome was recorded. Held is how long the
	// claim was owned.
	Executed Kind = "executed"
	// Replayed: a duplicate was answered with the recorded outcome. Wait is
	// how long it waited for it.
	Replayed Kind = "replayed"
	// InProgress: a duplicate was refused since the first is still running.
	InProgress Kind = "in_progress"
	// Mismatch: a key was used again for something else.
	Mismatch Kind = "mismatch"
	// OutcomeUnknown: a duplicate was refused since nobody knows how the first
	// run ended.
	OutcomeUnknown Kind = "outcome_unknown"
	// ResultUnavailable: a duplicate found the key completed, and no result to
	// replay.
	ResultUnavailable Kind = "result_unavailable"
	// RunFailed: a run ended without an outcome; its key was released. Err is
	// the run's error.
	RunFailed Kind = "run_failed"
	// RunUnknown: a run ended with an unknown outcome; its key is held.
	RunUnknown Kind = "run_unknown"
	// RunUnguarded: a run began without a claim, since the store was not
	// available and the caller had chosen to fail open.
	RunUnguarded Kind = "run_unguarded"
	// CompletedLate: an outcome was recorded after the lease had run out and
	// before anybody else had come.
	CompletedLate Kind = "completed_late"
	// CompleteRefused: an outcome was not recorded, since another owner had
	// taken the key over. What it guards may have taken effect twice.
	CompleteRefused Kind = "complete_refused"
	// CompleteFailed: an outcome could not be recorded yet, or, with Held past
	// Options.CompleteFor, at all. Until it is, duplicates are refused; when
	// the lease has run out, one may run.
	CompleteFailed Kind = "complete_failed"
	// ResultDropped: an outcome was recorded without its result, which was too
	// large or could not be encoded.
	ResultDropped Kind = "result_dropped"
)
