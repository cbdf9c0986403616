package sqltest

import (
	"os"
	"testing"
)

// RequirePostgres skips the test if it cannot or should not start PostgreSQL:
// if SEMEL_QUICK is 1, or if there is none. The latter is fatal if
// SEMEL_REQUIRE_SERVICES is 1, so that a gate cannot pass by skipping.
// Everything that starts a server calls it.
func RequirePostgres(tb testing.TB) {
	tb.Helper()
	_, err := findPostgres()
	require(tb, "PostgreSQL", err)
}

// RequireMariaDB is RequirePostgres for MariaDB.
func RequireMariaDB(tb testing.TB) {
	tb.Helper()
	_, err := findMariaDB()
	require(tb, "MariaDB", err)
}

// require skips or fails the test if it needs what is missing because of err.
func require(tb testing.TB, what string, err error) {
	tb.Helper()
	switch {
	case os.Getenv("SEMEL_QUICK") == "1":
		tb.Skipf("needs %s: skipped by SEMEL_QUICK=1", what)
	case err == nil:
	case os.Getenv("SEMEL_REQUIRE_SERVICES") == "1":
		tb.Fatalf("SEMEL_REQUIRE_SERVICES=1, but there is no %s: %v", what, err)
	default:
		tb.Skipf("needs %s: %v", what, err)
	}
}
