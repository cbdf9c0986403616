package lock

import (
	"context"
	"iter"
	"time"
)

// Limits that hold on every backend.
const (
	// MinTTL is the shortest TTL of a lease.
	MinTTL = 10 * time.Millisecond
	// MaxTTL is the longest TTL of a lease. A crash keeps a key for its TTL;
	// whoever needs more keeps the lease renewed.
	MaxTTL = 24 * time.Hour
)

// Backend is a store that keeps exclusive, expiring, fenced ownership of keys.
// It is small so that many stores fit; waiting, renewal, deadlines, events and
// error wrapping are written once, in [Locker].
//
// All methods are safe for concurrent use. A key is any non-empty sequence of
// bytes; two keys are the same only if they are equal byte for byte. A nonce
// is unique to one Acquire and its resends and is compared whole.
//
// A backend keeps per key a state and no history:
//
//	absent                            nobody owns the key
//	held(nonce, last fence, waiters)  nonce owns it until its TTL is over
//	kept(nonce, last fence)           given back, not to be granted until its TTL is over
//	free(nonce, last fence)           absent to everybody, except that this nonce is spent
//
// Every state but absent ends by an expiry that the store itself enforces;
// nothing is ever stored without one.
//
// A method may return before its request has been answered only if the backend
// is [Interruptible]. A request that is out of range (an empty key or nonce, a
// TTL below [MinTTL] or above [MaxTTL]) is refused with [ErrInvalid] and changes
// nothing. Any error that is not named here or in a method's comment means
// *in doubt*: the request may have taken effect, or may yet do so.
type Backend interface {
	// Acquire makes req.Nonce the owner of req.Key for req.TTL and reserves
	// req.Block fencing tokens, of which Grant.Fence is the first.
	//
	// If the key is held by req.Nonce itself, an earlier copy of this request
	// has succeeded: at least the full TTL is armed again, never less than what
	// remains, and the same block returned.
	// The first fence of a grant is greater than every fence ever reserved for
	// the key, also after release, expiry and loss of the store's data.
	//
	// Errors: *[HeldError] if another nonce holds or keeps the key, with the
	// time after which the store itself will free it (if req.Waiting, the
	// store remembers until then that somebody waits); [ErrSpent] if req.Nonce
	// was released before. Neither changes the owner or its expiry.
	Acquire(ctx context.Context, req Request) (Grant, error)

	// Extend arms req.TTL anew if req.Nonce holds req.Key and less than
	// req.TTL remains; it never shortens. If req.Block is not 0 it also
	// reserves that many further fences. Grant.Waiters tells whether somebody
	// waits.
	//
	// Errors: [ErrExpired] if the key is absent or free, or kept by req.Nonce;
	// [ErrTaken] if another nonce holds or keeps it. Neither changes anything.
	Extend(ctx context.Context, req Request) (Grant, error)

	// Release gives the key back if req.Nonce holds it: the state becomes
	// free for req.TTL, or kept for req.Keep if that is positive, and waiters
	// are told if there are any. Released again by the same nonce it reports
	// success. The spent nonce is remembered for as long as that state lasts: a
	// Keep shorter than the TTL shortens that too.
	//
	// Errors: [ErrExpired] if the key is absent, or free after another nonce;
	// [ErrTaken] if another nonce holds or keeps it. Neither changes anything,
	// except that with req.Compensate an absent or free key becomes free with
	// req.Nonce spent, so that a copy of the acquire still on its way is
	// refused, and nil is returned.
	Release(ctx context.Context, req ReleaseRequest) error
}

// Request asks a Backend for ownership.
type Request struct {
	// Key is what to own.
	Key string
	// Nonce identifies the asker.
	Nonce string
	// TTL is how long, at least [MinTTL]; a store rounds it up, never down.
	TTL time.Duration
	// Block is the number of fences to reserve, at least 1 in Acquire. In
	// Extend 0 reserves none.
	Block uint64
	// Waiting says that the asker will wait if it is refused, so that the
	// owner's release must tell it.
	Waiting bool
}

// ReleaseRequest asks a Backend to end ownership.
type ReleaseRequest struct {
	// Key is what is owned.
	Key string
	// Nonce is the owner.
	Nonce string
	// TTL is how long the spent nonce is remembered.
	TTL time.Duration
	// Fence is the last fence that was given out, so that the reserved ones
	// above it need not be skipped. 0 keeps the store's.
	Fence uint64
	// Keep, if positive, keeps the key from everybody for that long.
	Keep time.Duration
	// Compensate says that the grant was never seen.
	Compensate bool
}

// Grant is a Backend's yes.
type Grant struct {
	// Fence is the first of the reserved fences; 0 where none was asked for.
	Fence uint64
	// Block is how many were reserved.
	Block uint64
	// Waiters says that somebody was refused and waits.
	Waiters bool
}

// Waiter is implemented by backends that can tell when a key may have become
// free. Without it a Locker polls, with jittered backoff.
type Waiter interface {
	// Listen returns a Listener that calls notify with each watched key that
	// may have become free. notify does not block and may be called from any
	// goroutine, also for keys no longer watched, and without need.
	Listen(notify func(key string)) Listener
}

// Listener is a Locker's subscription to the releases of some keys.
type Listener interface {
	// Watch begins to listen for key and returns without waiting for the
	// store. notify is called for key once the subscription stands, and each
	// time it stands again after it broke: what was said before went unheard.
	// Watching a key twice is watching it once.
	Watch(key string)
	// Unwatch stops listening for key.
	Unwatch(key string)
	// Close ends the subscription and waits for its goroutines. notify is not
	// called after it returned.
	Close() error
}

// BatchExtender is implemented by backends that can extend many leases in one
// round trip. Without it a Locker extends them one by one.
type BatchExtender interface {
	// Node names the server that owns key, as far as it is known without
	// asking. A batch never holds keys of two nodes.
	Node(key string) string
	// ExtendBatch is Extend for each of reqs: errs[i] is what Extend would
	// have returned for reqs[i], grants[i] its grant.
	ExtendBatch(ctx context.Context, reqs []Request) (grants []Grant, errs []error)
}

// Interruptible is implemented by backends whose methods return at once when
// their context ends, even though their request may still be under way. They
// then return an *[InDoubtError]. The methods of other backends are run on a
// goroutine of the Locker's, which can leave them behind.
type Interruptible interface {
	// Interruptible reports whether this backend is so.
	Interruptible() bool
}

// Inspector is implemented by backends whose state an operator can look at.
type Inspector interface {
	// Look returns the state of one key.
	Look(ctx context.Context, key string) (Info, error)
	// List yields every key that is not absent, in no particular order. Keys
	// that change meanwhile may be missed or told twice. It ends after the
	// first error.
	List(ctx context.Context) iter.Seq2[Info, error]
	// Break frees key whoever owns it, keeping its fence, and spends the
	// owner's nonce; a key that nobody has is left alone, without an error. The
	// owner learns of it when it next extends: until then it goes on, and only
	// a resource that checks the fence is safe.
	Break(ctx context.Context, key string) error
}

// State is what a backend knows of a key.
type State string

// The states of a key.
const (
	StateAbsent State = "absent"
	StateHeld   State = "held"
	StateKept   State = "kept"
	StateFree   State = "free"
)

// Info is the state of a key.
type Info struct {
	// Key is the key as it was given to the Locker.
	Key string
	// State is what it is in.
	State State
	// Nonce is its owner, or its last.
	Nonce string
	// Fence is the last fence reserved for the key.
	Fence uint64
	// Remaining is the time after which the store forgets this state.
	Remaining time.Duration
	// Waiters says that somebody waits.
	Waiters bool
}

// Raiser is implemented by backends whose fences can be lifted.
type Raiser interface {
	// Raise makes fence the last fence reserved for the key if it is greater
	// than the store's, provided that nonce holds the key.
	//
	// Errors: [ErrExpired], [ErrTaken], as in Extend.
	Raise(ctx context.Context, key, nonce string, fence uint64) error
}
