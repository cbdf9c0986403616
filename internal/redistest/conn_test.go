package redistest_test

import (
	"bufio"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/redistest"
)

// speak is a server that answers the first request with some bytes and hangs
// up. It returns its address.
func speak(t *testing.T, bytes string) string {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := listener.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = bufio.NewReader(c).ReadString('\n')
		_, _ = io.WriteString(c, bytes)
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	return listener.Addr().String()
}

func TestConnReadsEveryType(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]any{
		"+OK\r\n":                              "OK",
		":-7\r\n":                              int64(-7),
		"$5\r\na\r\nbc\r\n":                    "a\r\nbc",
		"$0\r\n\r\n":                           "",
		"$-1\r\n":                              nil,
		"*-1\r\n":                              nil,
		"_\r\n":                                nil,
		"*0\r\n":                               []any{},
		"*2\r\n:1\r\n*1\r\n-BAD x\r\n":         []any{int64(1), []any{redistest.ReplyError("BAD x")}},
		",3.25\r\n":                            "3.25",
		"(123456789012345678901\r\n":           "123456789012345678901",
		"#t\r\n":                               true,
		"#f\r\n":                               false,
		"=7\r\ntxt:abc\r\n":                    "abc",
		"%1\r\n+a\r\n:1\r\n":                   []any{"a", int64(1)},
		"~2\r\n+a\r\n+b\r\n":                   []any{"a", "b"},
		">2\r\n+message\r\n+b\r\n":             redistest.Push{"message", "b"},
		"|1\r\n+ttl\r\n:1\r\n$1\r\nx\r\n":      "x",
		"*1\r\n|1\r\n+ttl\r\n:1\r\n+inner\r\n": []any{"inner"},
	} {
		reply, err := dial(t, speak(t, said)).Do("PING")
		require.NoError(t, err, "%q", said)
		require.Equal(t, want, reply, "%q", said)
	}
}

func TestConnTellsErrorsApart(t *testing.T) {
	t.Parallel()
	var failed redistest.ReplyError
	for _, said := range []string{"-NOSCRIPT gone\r\n", "!13\r\nNOSCRIPT gone\r\n"} {
		_, err := dial(t, speak(t, said)).Do("PING")
		require.ErrorAs(t, err, &failed)
		require.Equal(t, redistest.ReplyError("NOSCRIPT gone"), failed)
	}
	_, err := dial(t, speak(t, "")).Do("PING")
	require.ErrorIs(t, err, io.EOF)
	for _, said := range []string{"+OK", "$5\r\nabc", "$5\r\n", "*2\r\n+a\r\n", "*2\r\n"} {
		_, err := dial(t, speak(t, said)).Do("PING")
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, "%q", said)
	}
	for _, said := range []string{"\r\n", "?\r\n", "$-2\r\n", "$x\r\n", ":x\r\n", "*999999999999\r\n"} {
		_, err := dial(t, speak(t, said)).Do("PING")
		require.ErrorContains(t, err, "not RESP", "%q", said)
	}
}
