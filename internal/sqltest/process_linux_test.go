package sqltest_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/sqltest"
)

// roleVariable tells a child process of these tests what to do.
const roleVariable = "SQLTEST_ROLE"

// child is this test binary, to run TestChild in some role.
func child(t *testing.T, role string, environment ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChild$", "-test.v")
	cmd.Env = append(os.Environ(), roleVariable+"="+role, "SEMEL_QUICK=", "SEMEL_REQUIRE_SERVICES=")
	cmd.Env = append(cmd.Env, environment...)
	return cmd
}

// TestChild is what other tests run in a process of its own. It does nothing
// else.
func TestChild(t *testing.T) {
	t.Parallel()
	switch os.Getenv(roleVariable) {
	case "require":
		sqltest.RequirePostgres(t)
		fmt.Println("required")
	case "fail":
		s := sqltest.Postgres(t)
		s.Exec(t, "SELECT 1")
		t.Fail()
	case "hang":
		for _, kind := range kinds {
			s := kind.start(t)
			s.Exec(t, "SELECT 1")
			s.Pause()
			fmt.Printf("dir %s\n", s.Dir())
		}
		select {}
	}
}

func TestRequire(t *testing.T) {
	t.Parallel()
	out, err := child(t, "require", "SEMEL_QUICK=1", "SEMEL_REQUIRE_SERVICES=1").CombinedOutput()
	require.NoError(t, err)
	require.Contains(t, string(out), "--- SKIP")

	sqltest.RequirePostgres(t)
	out, err = child(t, "require").CombinedOutput()
	require.NoError(t, err)
	require.Contains(t, string(out), "required")
}

func TestLogIsShownOnFailure(t *testing.T) {
	t.Parallel()
	sqltest.RequirePostgres(t)
	out, err := child(t, "fail").CombinedOutput()
	require.Error(t, err)
	require.Regexp(t, `log of PostgreSQL on 127\.0\.0\.1:\d+:`, string(out))
	require.Contains(t, string(out), "ready to accept connections")
}

// Servers must not outlive a test process that had no time to clean up, even
// paused ones.
func TestServersDieWithTheTestProcess(t *testing.T) {
	t.Parallel()
	sqltest.RequirePostgres(t)
	sqltest.RequireMariaDB(t)
	process := child(t, "hang")
	out, err := process.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, process.Start())
	var dirs []string
	for lines := bufio.NewScanner(out); len(dirs) < len(kinds) && lines.Scan(); {
		var dir string
		if _, err := fmt.Sscanf(lines.Text(), "dir %s", &dir); err == nil {
			dirs = append(dirs, dir)
		}
	}
	require.Len(t, dirs, len(kinds))
	for _, dir := range dirs {
		require.NotEmpty(t, within(dir))
	}
	require.NoError(t, process.Process.Kill())
	require.Error(t, process.Wait())
	for _, dir := range dirs {
		t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
		require.Eventually(t, func() bool { return len(within(dir)) == 0 }, 20*time.Second, 10*time.Millisecond)
	}
}

// within are the processes that work in a directory: a server does so in that
// of its data.
func within(dir string) []string {
	entries, _ := os.ReadDir("/proc")
	var found []string
	for _, e := range entries {
		if cwd, err := os.Readlink("/proc/" + e.Name() + "/cwd"); err == nil && strings.HasPrefix(cwd, dir) {
			found = append(found, e.Name())
		}
	}
	return found
}
