package redistest

import (
	"os"
	"os/exec"
	"testing"
)

// Require skips the test if it cannot or should not start servers: if
// SEMEL_QUICK is 1, or if there is no redis-server. The latter is fatal if
// SEMEL_REQUIRE_SERVICES is 1, so that a gate cannot pass by skipping. Every
// Start calls it.
func Require(tb testing.TB) {
	tb.Helper()
	if os.Getenv("SEMEL_QUICK") == "1" {
		tb.Skip("needs redis-server: skipped by SEMEL_QUICK=1")
	}
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("SEMEL_REQUIRE_SERVICES") == "1" {
			tb.Fatalf("SEMEL_REQUIRE_SERVICES=1, but: %v", err)
		}
		tb.Skipf("needs redis-server: %v", err)
	}
}
