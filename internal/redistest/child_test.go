package redistest_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/redistest"
)

// roleVariable tells a child process of these tests what to do.
const roleVariable = "REDISTEST_ROLE"

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
		redistest.Require(t)
		fmt.Println("required")
	case "fail":
		s := redistest.Start(t)
		fmt.Println("addr", s.Addr())
		t.Fail()
	case "hang":
		s := redistest.Start(t)
		s.Pause()
		fmt.Printf("pid %d dir %s\n", s.Pid(), s.Dir())
		select {}
	}
}

func TestRequire(t *testing.T) {
	t.Parallel()
	out, err := child(t, "require", "SEMEL_QUICK=1", "SEMEL_REQUIRE_SERVICES=1").CombinedOutput()
	require.NoError(t, err)
	require.Contains(t, string(out), "--- SKIP")
	out, err = child(t, "require", "PATH=/nowhere").CombinedOutput()
	require.NoError(t, err)
	require.Contains(t, string(out), "--- SKIP")
	out, err = child(t, "require", "PATH=/nowhere", "SEMEL_REQUIRE_SERVICES=1").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "--- FAIL")
	require.NotContains(t, string(out), "required")

	redistest.Require(t)
	out, err = child(t, "require").CombinedOutput()
	require.NoError(t, err)
	require.Contains(t, string(out), "required")
}

func TestLogIsShownOnFailure(t *testing.T) {
	t.Parallel()
	redistest.Require(t)
	out, err := child(t, "fail").CombinedOutput()
	require.Error(t, err)
	require.Regexp(t, `log of redis-server on 127\.0\.0\.1:\d+:`, string(out))
	require.Contains(t, string(out), "Ready to accept connections")
}
