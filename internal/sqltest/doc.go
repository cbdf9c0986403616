// Package sqltest gives tests real PostgreSQL and MariaDB servers, and a proxy
// that misbehaves. It knows no driver: a test opens what it is given.
//
//	server := sqltest.Postgres(t)              // shared by all tests of this process
//	server := sqltest.MariaDB(t)               // the same
//	server := sqltest.StartPostgres(t)         // the test's own: to kill, pause, configure
//	server := sqltest.StartMariaDB(t, sqltest.Options{Language: "de"})
//
//	name := server.Database(t)                 // an empty database, dropped with the test
//	sql.Open("pgx", server.DSN(name))          // also for lib/pq, and for go-sql-driver/mysql
//	sql.Open("pgx", server.DSN(name, "default_transaction_isolation=serializable"))
//
//	proxy := sqltest.NewProxy(t, server.Addr())
//	sql.Open("pgx", server.DSNAt(proxy.Addr(), name))
//
// A shared server runs while some test uses it. Only a server that a test has
// started for itself may be killed, stopped or paused. Servers listen on
// loopback only, let every local user in without a password, keep their files
// in a directory of their own, are gone when their test ends, and die with the
// test process even if that is killed. Their log is shown if the test fails.
//
// Without the servers' programs a test is skipped, and fails if
// SEMEL_REQUIRE_SERVICES is 1. SEMEL_QUICK=1 skips every test that would start
// a server.
//
// What a server has acknowledged survives [Server.Kill]: it was given to the
// operating system, though not to the disk. [Server.Pause] leaves connections
// open and unanswered. The [Proxy] knows nothing of SQL: it sees the pieces
// that a client writes, and cuts, holds or loses them or what is answered.
//
// Everything may be called from several goroutines. A method that cannot do
// what it says ends the test by t.Fatal; on a goroutine other than the test's
// that fails the test and ends the goroutine, not the test.
package sqltest
