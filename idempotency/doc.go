// Package idempotency makes a function take effect once per key, over any
// number of processes that share a store, and replays its outcome to
// duplicates. It does not know what the effect is: "once" is exact only where
// the record commits together with the effect. Anywhere else a crash between
// the two lets a duplicate run it again, with a higher fence.
//
//	store, err := redisstore.New(rdb, redisstore.Options{})
//	guard, err := idempotency.New(store, idempotency.Options{Lease: 30 * time.Second, Retention: 7 * 24 * time.Hour})
//	receipt, err := idempotency.Do(ctx, guard, idempotency.Key{Scope: "invoice", ID: "in_123"}, fulfil)
//
// # The states of a key
//
//	          Begin                        Complete
//	absent ───────────▶ claimed(nonce) ────────────▶ completed(record) ──retention──▶ absent
//	free ─────────────▶    │  │  ▲ Renew
//	 ▲                     │  └──┘    a later claim has a higher fence; after it,
//	 ├───── Release ───────┤          the older owner's Complete is refused
//	 └─ the lease is over ─┤ (absent)
//	unknown(until) ◀───────┘ the function said that it does not know
//
// A claim is a lock (package lock) in the same key as the record that takes its
// place: one round trip to claim and one to complete, one for a duplicate. The
// claim's owner is trusted for the lease less a margin, counted from before the
// request was sent; the keeper renews it while the function runs, however long
// that takes.
//
// # Two clocks
//
// The lease is short: it is how long a crash blocks the key. The retention is
// long: it is how long a duplicate is recognised. A key is never marked as done
// before its function has succeeded, and nothing is stored without an expiry.
//
// # How a run ends
//
//	the function returns      the key becomes
//	nil                       completed; duplicates get the result
//	Final(err)                completed; duplicates get the error's text
//	Unknown(err)              unknown for Options.UnknownFor: duplicates are
//	                          refused until a person decides, or the time is over
//	RetryAfter(d, err)        free, and not to be claimed before d is over
//	another error             free
//	panic, Goexit             free; the panic goes on
//	the process dies          free when the lease is over
//
// A handler that cannot say it by its return steers by its [Claim].
//
// Completing never makes a success a failure. If the store does not answer, the
// first caller gets its result, and the guard goes on trying in the background,
// keeping the claim; Close waits for it. If another owner has taken the key
// over, which takes a pause longer than the lease or a store that lost its
// data, nothing is overwritten, and the observer is told.
//
// # Fingerprints
//
// A key used again for something else is a mistake of the sender's, and is told
// as such ([ErrMismatch]) even while the first use is under way. What "else"
// means the caller says, with a digest of what the key stands for.
//
// # Waiting
//
// With Options.Wait duplicates of one process wait in memory, and one of them
// per process asks the store. When the run completes, all of them replay; when
// it is released or its owner dies, one takes over.
//
// # Doubt
//
// As in package lock: a Begin that was not answered is undone in the
// background, and is [ErrUnavailable], which is not [ErrInProgress]. Nothing
// runs without a claim, unless Options.FailOpen was chosen.
package idempotency
