// Package keeper keeps leases: it is the one place where Semel decides how
// long a grant may be trusted, renews it, and bounds how long a request to a
// store may take. Package lock keeps its leases with it, package idempotency
// its claims.
//
// # The trust window
//
// A grant is trusted from the instant before its request was first sent until
// TTL − margin later, and never longer than that on the word of a later reply.
// The store cannot have begun to count before it got the request, so its own
// expiry is later than ours by at least the margin, which pays for the two
// clocks' drift. Time is read from clocks that go on while the machine is
// suspended ([Now]). The window is asked at each use ([Holding.Valid]), so
// that a process that was paused finds it closed at its first call, whenever
// its timers get to run.
//
// # Renewal
//
// A [Holding] is renewed when a third of its TTL is over, with jitter, in
// batches of one server each. A failure that may pass is retried while the
// window is open, apart from the batch it happened in; "not yours" closes the
// window at once. No renewal, however long its call takes, delays the end of
// the window: that is a timer of its own. The extensions of one holding are
// made one at a time.
//
// # Deadlines
//
// A client library may ignore its context while a request is under way.
// [Keeper.Do] therefore runs a request on a goroutine that it can leave
// behind: it returns when the context ends or the time is up, and the request
// is told, once its call has really returned, that nobody waits for it any
// more ([Op.Late]). [Keeper.Close] waits for those too.
package keeper
