// Package idempotencytest is the conformance suite of package idempotency: a
// list of laws, each a test with the reason why it exists, that every
// [idempotency.Store] has to keep. A store's own test is a [Harness] and a call
// of [Run].
//
// Two kinds of laws are run on each store. Those of the first kind ask the
// Store itself and hold it to the comments of its methods. Those of the second
// kind, whose names begin with Guard, put an [idempotency.Guard] on top and
// test the whole: what a program sees that runs its handlers under this store.
// Some of them put a faulty layer between the two, which fails before the store
// has acted, loses its answer afterwards, or does not answer at all.
//
// The suite uses the standard library's testing package alone. A law that needs
// what a store does not have is skipped and says so. The name of a law is
// stable; go test -run 'Conformance/NameOfALaw' runs one.
//
// The suite cannot show what a store does when its server is killed, cut off or
// set back, unless [Store.Rewind] tells it how; that remains with the tests of
// each store.
package idempotencytest
