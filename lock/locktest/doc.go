// Package locktest is the conformance suite of package lock: a list of laws,
// each a test with the reason why it exists, that every [lock.Backend] has to
// keep. A backend's own test is a [Harness] and a call of [Run]:
//
//	func TestConformance(t *testing.T) {
//		locktest.Run(t, locktest.Harness{
//			New: func(t *testing.T) locktest.Store {
//				return locktest.Store{Backend: open(t)}
//			},
//			Features: locktest.Features{Fencing: true, Waiting: true},
//		})
//	}
//
// Two kinds of laws are run on each backend. Those of the first kind ask the
// Backend itself and hold it to the comments of its methods. Those of the
// second kind, whose names begin with Locker, put a [lock.Locker] on top and
// test the whole: what a program sees that takes a lock from this backend. Some
// of them put a faulty layer between the two, which loses replies, stalls, or
// cuts the Locker off.
//
// The suite uses the standard library's testing package alone. A law that needs
// what a backend does not have is skipped and says so. The name of a law is
// stable; go test -run 'Conformance/NameOfALaw' runs one, and -v lists them all
// with their reasons. Laws run in parallel: on a store that keeps real time most
// of them wait most of the time, and go test -parallel 8 shortens that.
//
// The suite cannot show what a store does when its server is killed, cut off or
// set back, unless [Store.Rewind] tells it how; that remains with the tests of
// each backend.
package locktest
