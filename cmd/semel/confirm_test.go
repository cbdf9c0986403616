package main_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	semel "github.com/semel-go/semel/cmd/semel"
)

// TestIsTerminal: nobody can be asked at a file, a pipe or the null device.
func TestIsTerminal(t *testing.T) {
	t.Parallel()
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	t.Cleanup(func() { _ = null.Close() })
	require.False(t, semel.IsTerminal(null))

	read, write, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = read.Close(), write.Close() })
	require.False(t, semel.IsTerminal(read))

	file, err := os.Open("confirm_test.go")
	require.NoError(t, err)
	t.Cleanup(func() { _ = file.Close() })
	require.False(t, semel.IsTerminal(file))
	require.NoError(t, file.Close())
	require.False(t, semel.IsTerminal(file))
}

// TestIsTerminalOfATerminal uses the near end of a pseudo-terminal, which is one
// itself.
func TestIsTerminalOfATerminal(t *testing.T) {
	t.Parallel()
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil && os.Getenv("SEMEL_REQUIRE_SERVICES") != "1" {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { _ = terminal.Close() })
	require.True(t, semel.IsTerminal(terminal))
}
