package bench

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRequestCounter(t *testing.T) {
	t.Parallel()
	const stream = "*2\r\n$5\r\nhello\r\n$1\r\n3\r\n" +
		"*3\r\n$7\r\nevalsha\r\n$12\r\n*1\r\n$4\r\nPI\r\n\r\n$0\r\n\r\n" + // An argument like a request.
		"*1\r\n$4\r\nPING\r\n"
	for size := 1; size <= len(stream); size++ {
		var requests requestCounter
		var names []string
		for rest := stream; rest != ""; {
			n := min(size, len(rest))
			requests.feed([]byte(rest[:n]), func(name string) { names = append(names, name) })
			rest = rest[n:]
		}
		require.Equal(t, []string{"hello", "evalsha", "PING"}, names, "in writes of %d bytes", size)
	}
}
