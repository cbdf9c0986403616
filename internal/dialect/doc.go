// Package dialect is what Semel's SQL backends have in common: the differences
// between the databases they run on. It knows nothing of locks or records, and
// no driver: it is given a *sql.DB and reads errors by what they carry.
//
//	d := dialect.Postgres
//	table, err := d.Quote("app.semel_runs")            // "app"."semel_runs"
//	query := d.Rebind("SELECT x FROM " + table + " WHERE k = ?") // ... WHERE k = $1
//	err = d.Retry(ctx, func() error { ... })
//	if d.Class(err) == dialect.UndefinedTable { ... }
//
// # Which database
//
// The caller says which it is. A probe could ask (SELECT version()), but it
// would need a round trip and a server that answers where nothing may be sent
// yet, would have to know every fork's answer, and would read text; whoever
// opened the *sql.DB has named the driver a line above.
//
// # Errors
//
// An error is told by SQLSTATE, error number or result code, never by its text,
// which depends on the server's language and version:
//
//	Postgres  any error with SQLState() string (pgx, lib/pq)
//	MySQL     an error whose type is called MySQLError, by its Number
//	SQLite    an error with ExtendedCode or Code, as method or field
//	          (modernc, ncruces, mattn)
//
// SQLite has no code of its own for a table that is not there: Class cannot
// tell it from any other mistake, see [Dialect.HasTable].
//
// # Time
//
// [Dialect.Clock] is the database's clock as a SQL expression, in microseconds
// since 1970. It is never the start of a transaction, which may be long ago. On
// MySQL and MariaDB it is the start of the statement; a statement that waits for
// a row then works with a time that is a little old, so it may take what has
// just ended for alive, never the other way round. SQLite's clock is that of the
// machine and counts in milliseconds: see [Dialect.Tick].
//
// # Transactions
//
// Statements of our own are repeated where the database asks for it
// ([Dialect.Retry]). A statement in a transaction of the caller's must not be:
// the whole transaction has failed, and only the caller can run it again.
//
// # Schemas
//
// A [Schema] is a list of steps; [Dialect.Migrate] applies those that a database
// does not have yet. Its version is a row in a table of their own, which all
// parts of Semel in one database schema share. Two processes may migrate at the
// same time: one waits for the other, by an advisory lock on Postgres, GET_LOCK
// on MySQL, and a write transaction on SQLite. On Postgres and SQLite all steps
// are one transaction. MySQL commits each statement that changes a table by
// itself, so every step must be safe to repeat after a crash.
package dialect
