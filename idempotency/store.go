package idempotency

import (
	"context"
	"iter"
	"time"
)

// Limits that hold on every store.
const (
	// MinLease is the shortest lease of a claim.
	MinLease = 10 * time.Millisecond
	// MaxLease is the longest lease of a claim: a crash keeps a key for as
	// long. Whoever needs more keeps the claim renewed.
	MaxLease = 24 * time.Hour
	// MaxRetention is the longest time for which a record is kept.
	MaxRetention = 10 * 365 * 24 * time.Hour
)

// Store keeps one record per key: who runs it now, or how it ended. It is
// small so that many stores fit; waiting, renewal, deadlines, events, codecs
// and error wrapping are written once, in [Guard].
//
// All methods are safe for concurrent use, atomic, and one round trip. A nonce
// is unique to one Begin and its resends and is compared whole. Per key a
// store keeps one of these, each with an expiry that the store itself
// enforces; nothing is ever stored without one:
//
//	absent
//	claimed    nonce, fence, attempt, fingerprint, waiters   for the lease
//	completed  Record                                        for the retention
//	unknown    nonce, fence, attempt, fingerprint            until its hold time is over
//	free       nonce, fence, attempt, not-before             for the stub's time
//
// free counts as absent for everybody, except that its nonce is spent, that
// its fence and attempt go on, and that it is not claimed before not-before.
//
// A method may return before its request has been answered only if the store
// is a lock.Interruptible. Any error that is not named in a method's comment
// means *in doubt*: the request may have taken effect, or may yet do so.
type Store interface {
	// Begin claims r.Key for r.Nonce for r.Lease, if it is absent or free.
	//
	// The fence is greater than every earlier fence of the key, also after
	// expiry and loss of the store's data: max(last + 1, the store's clock in
	// microseconds). The attempt is one more than that of a free record.
	//
	// If the key is claimed by r.Nonce itself, an earlier copy of this request
	// has succeeded: the full lease is armed again and the same answer
	// returned. If it is completed by r.Nonce, that is Completed as for
	// everybody.
	//
	// Error: lock.ErrSpent if r.Nonce was released before.
	Begin(ctx context.Context, r BeginRequest) (Begun, error)

	// Renew arms r.Lease anew if r.Nonce has the claim and less remains; it
	// never shortens.
	//
	// Errors: lock.ErrExpired if the key is absent or free; lock.ErrTaken if
	// anything else owns it, its own completed or unknown record included.
	// Neither changes anything.
	Renew(ctx context.Context, r RenewRequest) error

	// Complete puts r.Record in the place of the claim of r.Record.Nonce, for
	// r.Retention, and tells the waiters. If the key is absent (the lease ran
	// out and nobody came) the record is stored all the same and late is true.
	// Completed again by the same nonce it reports success and changes
	// nothing.
	//
	// Errors: lock.ErrTaken if another nonce owns the key, or completed it;
	// lock.ErrExpired if the key is free (after whichever nonce: somebody has
	// run, released or forgotten it since) or this nonce's own outcome was
	// declared unknown. Neither changes anything.
	Complete(ctx context.Context, r CompleteRequest) (late bool, err error)

	// Release ends the claim of r.Nonce in the way that r says and tells the
	// waiters. Released again by the same nonce it reports success.
	//
	// Errors: lock.ErrExpired if the key is absent, or free after another
	// nonce; lock.ErrTaken if another nonce owns it, or the key is completed.
	// Neither changes anything, except that with r.Compensate an absent or
	// free key becomes free with r.Nonce spent, so that a copy of the Begin
	// still on its way is refused, and nil is returned.
	Release(ctx context.Context, r ReleaseRequest) error
}

// Nonce identifies one Begin and its resends: 16 random bytes.
type Nonce [16]byte

// Fingerprint is a digest of what a key was used for. The zero Fingerprint
// means that none was given.
type Fingerprint [32]byte

// State is the state of a key.
type State uint8

// The states of a key. In an answer to Begin StateClaimed means by this
// request, StateHeld by another, and StateFree that it came before its
// not-before time.
const (
	StateAbsent State = iota
	StateClaimed
	StateHeld
	StateCompleted
	StateUnknown
	StateFree
)

// String returns the state's name.
func (s State) String() string {
	switch s {
	case StateAbsent:
		return "absent"
	case StateClaimed:
		return "claimed"
	case StateHeld:
		return "held"
	case StateCompleted:
		return "completed"
	case StateUnknown:
		return "unknown"
	case StateFree:
		return "free"
	}
	return "invalid"
}

// BeginRequest asks a Store for a claim.
type BeginRequest struct {
	Key         Digest
	Nonce       Nonce
	Fingerprint Fingerprint
	// Lease is how long, from MinLease; a store rounds it up, never down.
	Lease time.Duration
	// Waiting says that the asker will wait if it is refused, so that the
	// claim's end must be told.
	Waiting bool
	// Label is the readable scope and id, if they are to be kept; opaque.
	Label []byte
}

// Begun is a Store's answer to Begin. Which fields are set depends on State.
type Begun struct {
	// State is StateClaimed, StateHeld, StateCompleted, StateUnknown, or
	// StateFree (not yet to be claimed).
	State State
	// Fence and Attempt are those of the claim. Claimed only.
	Fence   uint64
	Attempt uint32
	// Remaining is the time until the lease ends (Held), the outcome is no
	// longer held unknown (Unknown), the key may be claimed (Free), or the
	// retention ends (Completed).
	Remaining time.Duration
	// Fingerprint is that of the present owner, whole. Held, Unknown.
	Fingerprint Fingerprint
	// Record is how the key's run ended. Completed only.
	Record Record
}

// RenewRequest asks a Store to extend a claim.
type RenewRequest struct {
	Key   Digest
	Nonce Nonce
	Lease time.Duration
}

// CompleteRequest asks a Store to record an outcome.
type CompleteRequest struct {
	Key       Digest
	Record    Record
	Retention time.Duration
}

// ReleaseRequest asks a Store to end a claim without an outcome.
type ReleaseRequest struct {
	Key   Digest
	Nonce Nonce
	// TTL is how long the free record is remembered after NotBefore is over.
	TTL time.Duration
	// NotBefore, if positive, is how long nobody may claim the key.
	NotBefore time.Duration
	// Unknown, if positive, declares the outcome unknown for that long.
	Unknown time.Duration
	// Compensate says that the claim was never seen: no attempt was made.
	Compensate bool
}

// Record is a completed run.
type Record struct {
	Nonce       Nonce
	Fence       uint64
	Attempt     uint32
	Fingerprint Fingerprint
	// ClaimedAt and CompletedAt are by the owner's clock, to the millisecond.
	ClaimedAt, CompletedAt time.Time
	// Body is the sealed result, opaque to the store. A store neither keeps a
	// caller's slices nor gives out its own.
	Body []byte
	// Label is the readable scope and id, if they are kept; opaque.
	Label []byte
}

// BatchRenewer is implemented by stores that can renew many claims in one
// round trip. Without it they are renewed one by one.
type BatchRenewer interface {
	// Node names the server that has key, as far as it is known without
	// asking. A batch never holds keys of two nodes.
	Node(key Digest) string
	// RenewBatch is Renew for each of rs: errs[i] is what Renew would have
	// returned for rs[i].
	RenewBatch(ctx context.Context, rs []RenewRequest) (errs []error)
}

// Binder is implemented by stores that can hold an id to one digest.
type Binder interface {
	// Bind stores value under id for ttl if nothing is stored there, and
	// otherwise reports whether the same value is. A bound id's time does not
	// change. Bindings and records never meet, even under equal digests.
	Bind(ctx context.Context, id, value Digest, ttl time.Duration) (same bool, err error)
}

// Info is the state of a key, as an operator sees it.
type Info struct {
	Key   Digest
	State State // StateHeld apart
	// Remaining is the time after which the store forgets this state.
	Remaining time.Duration
	// NotBefore is the time until a free key may be claimed.
	NotBefore time.Duration
	Waiters   bool
	// Record holds what is known; Body only of a completed one.
	Record Record
	// Size is about how many bytes the store spends on the key; 0 if unknown.
	Size int64
}

// ListOptions selects what List yields.
type ListOptions struct {
	// Scope, if not nil, yields only keys whose digest begins with it; see
	// ScopeDigest.
	Scope []byte
	// States, if not empty, yields only keys in one of them.
	States []State
}

// Inspector is implemented by stores whose records an operator can look at.
type Inspector interface {
	// Look returns the state of one key.
	Look(ctx context.Context, key Digest) (Info, error)
	// List yields every key that o selects, in no particular order, streaming.
	// Keys that change meanwhile may be missed or told twice; bodies may be
	// left out. It ends after the first error.
	List(ctx context.Context, o ListOptions) iter.Seq2[Info, error]
	// Forget frees key whatever its state, so that the next Begin runs it
	// again. The nonce is spent and fence and attempt go on: a run that is
	// still under way can no longer complete. stub is how long that is
	// remembered. It reports whether there was anything.
	Forget(ctx context.Context, key Digest, stub time.Duration) (bool, error)
	// ForceComplete records r.Record whatever the state of the key, except
	// Completed, whose outcome is final: then it reports false. The fence that
	// is stored is above the present one.
	ForceComplete(ctx context.Context, r CompleteRequest) (bool, error)
	// ReleaseDead frees key if it is claimed by nonce or its outcome is
	// unknown, whoever's: for an owner that is known to be gone. It reports
	// whether it was.
	ReleaseDead(ctx context.Context, key Digest, nonce Nonce, stub time.Duration) (bool, error)
}
