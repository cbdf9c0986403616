// Package line is where the callers of one process wait for a key. Package
// lock waits for leases with it, package idempotency for claims and outcomes.
//
// A key that somebody wants has a [Line]. At most one caller in it is the
// asker: it alone asks the store, or waits for news from it. The others queue
// behind, oldest first, and cost the store nothing. When the asker leaves, the
// next one is promoted. A line may have a holder: then there is no asker, and
// those who wait are served by the holder, from memory.
//
// [Lines] also brings the news of other processes: one listener per Lines,
// opened when a key is first waited for. What it hears wakes the asker of the
// key, one per process however many wait. No news is waited for without an
// end: [Lines.Pause] says how long at most.
package line
