package redistest_test

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/redistest"
)

// dial connects to a server for the time of the test. Nothing on the
// connection waits longer than 10 s, unless the test says so.
func dial(t *testing.T, addr string) *redistest.Conn {
	t.Helper()
	c, err := redistest.Dial(addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(10*time.Second)))
	return c
}

// dialRaw is dial for those who write and read themselves.
func dialRaw(t *testing.T, addr string) net.Conn {
	t.Helper()
	var dialer net.Dialer
	c, err := dialer.DialContext(t.Context(), "tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(10*time.Second)))
	return c
}
