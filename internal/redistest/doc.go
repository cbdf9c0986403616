// Package redistest gives tests real Redis servers and a proxy that misbehaves.
//
//	server := redistest.Start(t)                // one server, no data on disk
//	group  := redistest.StartReplicated(t)      // master, replica, three sentinels
//	grid   := redistest.StartCluster(t, 3)      // three masters, all slots served
//	proxy  := redistest.NewProxy(t, server.Addr())
//
// Servers listen on loopback only, keep their files in a directory of their
// own, are gone when their test ends, and die with the test process even if
// that is killed. Their log is shown if the test fails.
//
// Without redis-server a test is skipped, and fails if SEMEL_REQUIRE_SERVICES
// is 1. SEMEL_QUICK=1 skips every test that would start a server.
//
// The servers are what a lock has to survive: [Server.Kill] loses what was not
// on disk, [Server.Pause] leaves connections open and unanswered,
// [Server.RestartFrom] goes back in time, [Server.HoldReplicas] loses
// writes that were acknowledged, and a [Migration] can be left half done for
// as long as a test likes. The [Proxy] does the same to single requests: the
// server acts and the reply is lost, the request arrives late, or twice.
//
// Everything may be called from several goroutines. A method that cannot do
// what it says ends the test by t.Fatal; on a goroutine other than the test's
// that fails the test and ends the goroutine, not the test.
package redistest
