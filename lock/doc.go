// Package lock gives exclusive, expiring, fenced ownership of keys, over any
// number of processes that share a store. It does not make an effect happen
// once: that is package idempotency, which is built on it.
//
//	backend, err := redislock.New(rdb, redislock.Options{})
//	locker, err := lock.New(backend, lock.Options{TTL: 5 * time.Second, Wait: time.Second})
//	err = locker.Do(ctx, "invoice:in_123", func(ctx context.Context) error { ... })
//
// This page is the protocol: who is believed, for how long, and what that does
// not promise.
//
// # The states of a key
//
//	          Acquire                      Release
//	absent ───────────▶ held(nonce, fence) ─────────▶ free(nonce, fence) ──TTL──▶ absent
//	  ▲                  │  │   ▲ Extend     │ Release with Keep             counts as absent,
//	  │                  │  └───┘            ▼                               its nonce is spent
//	  └──── TTL is over ─┘               kept(nonce, fence) ──Keep──▶ absent
//
// The store is the authority: it compares, sets and expires in one step. A
// request is known by its nonce, 128 random bits drawn for each request to
// acquire. A client library may send a request again after a lost reply, so a
// store that finds the request's own nonce in the key says yes again, with the
// same fence and the full TTL; a release leaves the spent nonce behind for one
// TTL, so that a copy that comes late is refused, and so that a second release
// is told from a stranger's.
//
// # The trust window
//
// A lease is believed from the instant before its request was first sent until
//
//	TTL − margin        margin = TTL/100 + 2 ms, or Options.Margin
//
// later. The store began to count when it got the request, which is later than
// that, so its own expiry comes after ours, as long as the two clocks drift
// apart by less than the margin within one TTL. A slow reply shortens the
// lease; it never lengthens it. With a TTL of 5 s and a reply that took 300 ms,
// 5000 − 52 − 300 = 4648 ms are left when Acquire returns.
//
// The clock counts the time for which the machine was suspended
// (CLOCK_BOOTTIME on Linux; elsewhere the later of Go's monotonic clock and the
// wall clock). [Lease.Valid], [Lease.Remaining] and the Done and Err of
// [Lease.Context] read it each time they are asked, so a process that was
// stopped for minutes finds its lease lost at its first question. Besides, a
// timer ends the context when the window closes, whatever the network is doing.
//
// Renewal starts when a third of the TTL is over. It is tried again while the
// window is open, and each success opens a new window, counted from the send
// of the request that was answered. "Not yours" closes it at once.
//
// # Fencing
//
// A paused process, a delayed packet or a store that lost its memory can make
// two owners believe in the same key for a while. No lock service can prevent
// that; the resource can. Each lease has a fence, a number that is greater than
// that of every earlier lease on the key: also after release, expiry and loss
// of the store's data, provided that the store's clock is not set back past the
// key's last grant. Store it with what you write, and refuse a lower one:
//
//	UPDATE invoices SET state = 'paid', fence = $2 WHERE id = $1 AND fence < $2
//
// If no row was updated, a later owner has been there: stop. (A lease that
// writes several times compares with <=.) A fence orders owners. It does not
// make an effect happen once: a late owner may write before its successor does.
//
// # Waiting
//
// The callers of one Locker queue in memory, first come first served, and only
// the first of them asks the store. When it is refused it subscribes to the
// key's releases, asks again, and then sleeps until it hears of one, or until
// the holder's claim would have ended by itself. So neither a lost message nor
// a dead holder strands it. An uncontended lock sends two requests: one to
// acquire, one to release.
//
// A release that finds callers of the same process waiting hands the key over
// in memory. The owner in the store is then the process: the nonce stays, a
// block of fences reserved with it is given out one by one, and only the lease
// whose turn it is may extend or release. After 64 turns or 50 ms the store is
// asked to extend, and tells whether another process waits; then the key is
// given back and left alone for about 20 ms, so that a process farther from the
// store gets its turn, too. It is also given back in any doubt: with less than
// half the TTL left, after a renewal that failed, for a caller that wants a
// longer TTL.
//
// # Doubt
//
// A request that was sent and not answered may have been granted. It is
// undone in the background, after the client library has really given it up
// (go-redis goes on after the context has ended), by a release of its nonce
// that also leaves a spent nonce where the key was free. If that cannot be
// done either, the key is owned by nobody for at most one TTL; it never has two
// owners. An unanswered request is [ErrUnavailable] and never [ErrNotAcquired]:
// that the store is away does not mean that somebody holds the key.
//
// # What replication cannot promise
//
// Redis answers before its replicas have heard. When a master dies, its
// successor may not know of the last grants, and another may be granted a key
// that is still believed in: until the older window ends, two leases overlap.
// The same holds for a Redis that restarts without its data, evicts keys, or
// whose clock is stepped forward. Choose by what that would cost:
//
//   - Fence what you write. This is the one answer that always holds.
//   - redislock.Options.Replicas waits until n replicas have the grant before
//     it is believed. It narrows the gap and does not close it: a replica
//     without the grant may still be the one that is promoted.
//   - Let a database that you write to anyway be the judge: a transaction
//     which holds the effect and a row that says so takes effect once.
//   - For work that must merely not be done twice at great cost, accept it.
//
// Ending a lease does not stop code, and a context derived from the lease's
// learns of its end by a timer alone. What was already sent is on its way:
// between Valid and the arrival of a write lies a time that no clock of ours
// covers. That gap, too, only the fence closes.
//
// # Writing a backend
//
// Implement [Backend], and the optional interfaces that the store allows; hold
// it to the laws with package locktest.
package lock
