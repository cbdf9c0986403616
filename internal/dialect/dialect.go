package dialect

import (
	"fmt"
	"strings"
	"time"
)

// Dialect is a kind of database.
type Dialect uint8

// The kinds of databases.
const (
	// Postgres is PostgreSQL, 12 and above.
	Postgres Dialect = iota + 1
	// MySQL is MySQL, 8.0.1 and above, and MariaDB, 10.6 and above.
	MySQL
	// SQLite is SQLite, 3.35 and above.
	SQLite
)

// String returns the dialect's name.
func (d Dialect) String() string {
	switch d {
	case Postgres:
		return "postgres"
	case MySQL:
		return "mysql"
	case SQLite:
		return "sqlite"
	}
	return "none"
}

// Valid reports whether d is one of the dialects.
func (d Dialect) Valid() bool { return d >= Postgres && d <= SQLite }

// Parse returns the dialect of a name: what String returns, and the usual
// other names, in any case.
func Parse(name string) (Dialect, error) {
	switch strings.ToLower(name) {
	case "postgres", "postgresql", "pgx":
		return Postgres, nil
	case "mysql", "mariadb":
		return MySQL, nil
	case "sqlite", "sqlite3":
		return SQLite, nil
	}
	return 0, fmt.Errorf("dialect: no dialect is called %q, want postgres, mysql or sqlite", name)
}

// Clock returns an expression for the database's time in microseconds since
// 1970, an integer. Each place in a statement where it stands may have a time
// of its own.
func (d Dialect) Clock() string {
	switch d {
	case Postgres:
		return "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS bigint)"
	case MySQL:
		return "TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))"
	default:
		// julianday is a float that is exact to about 40 µs: rounded to the
		// millisecond that it was made of.
		return "(CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000)"
	}
}

// Tick is how coarse the clock is. What is to last for some time at least must
// be armed for a Tick more.
func (d Dialect) Tick() time.Duration {
	if d == SQLite {
		return time.Millisecond
	}
	return time.Microsecond
}
