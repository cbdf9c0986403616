package sqltest

import (
	"fmt"
	"os"
	"testing"
)

// Host is where the server listens.
func (s *Server) Host() string { return loopback }

// Port is the server's port, the same after every restart.
func (s *Server) Port() int { return s.port.number }

// Addr is host and port.
func (s *Server) Addr() string { return address(s.port.number) }

// Dir is the directory of the server's files.
func (s *Server) Dir() string { return s.dir }

// User is the name of a user who may do everything and has no password.
func (s *Server) User() string { return s.engine.account() }

// Database makes an empty database and returns its name. On a shared server it
// is dropped at the end of the test tb, once what that has opened is closed; a
// server of the test's own ends as a whole.
func (s *Server) Database(tb testing.TB) string {
	tb.Helper()
	name := fmt.Sprintf("test_%d_%d", os.Getpid(), s.count.Add(1))
	s.Exec(tb, "CREATE DATABASE "+name)
	if s.shared {
		tb.Cleanup(func() { s.Exec(tb, s.engine.drop(name)) })
	}
	return name
}

// DSN is what a driver needs to open a database: a postgres:// URL, which pgx
// and lib/pq read, or what go-sql-driver/mysql reads. Each of params is a
// parameter of the driver or a setting of the session as "name=value", not
// escaped. A string for MySQL has its quotes.
//
//	postgres.DSN(name, "default_transaction_isolation=repeatable read")
//	mariadb.DSN(name, "tx_isolation='REPEATABLE-READ'", "clientFoundRows=true")
func (s *Server) DSN(database string, params ...string) string {
	return s.DSNAt(s.Addr(), database, params...)
}

// DSNAt is DSN by way of another address, such as a [Proxy]'s.
func (s *Server) DSNAt(addr, database string, params ...string) string {
	return s.engine.dsn(addr, database, params)
}

// Exec runs a statement as the server's owner, outside any database of a
// test's, and returns what it says: one line a row.
func (s *Server) Exec(tb testing.TB, statement string) string {
	tb.Helper()
	out, err := s.engine.exec(s.instance, statement).run(user{})
	if err != nil {
		tb.Fatalf("sqltest: %s: %v", s.name(), err)
	}
	return out
}
