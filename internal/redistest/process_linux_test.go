package redistest_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/redistest"
)

// A server must not outlive a test process that had no time to clean up, even
// a paused one.
func TestServerDiesWithTheTestProcess(t *testing.T) {
	t.Parallel()
	redistest.Require(t)
	process := child(t, "hang")
	out, err := process.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, process.Start())
	var pid int
	var dir string
	for lines := bufio.NewScanner(out); dir == "" && lines.Scan(); {
		_, _ = fmt.Sscanf(lines.Text(), "pid %d dir %s", &pid, &dir)
	}
	require.NotEmpty(t, dir)
	require.NoError(t, process.Process.Kill())
	require.Error(t, process.Wait())
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(filepath.Dir(dir))) })
	require.Eventually(t, func() bool {
		return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || zombie(pid)
	}, 10*time.Second, time.Millisecond)
}

// zombie reports whether a process is dead and only not yet waited for.
func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	return strings.HasPrefix(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " Z")
}
