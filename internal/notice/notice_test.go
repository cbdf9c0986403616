package notice_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/leaktest"
	"github.com/semel-go/semel/internal/notice"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m, "internal/notice")) }

func TestBoard(t *testing.T) {
	t.Parallel()
	var board notice.Board
	board.Tell("nobody listens")
	told := make(chan string)
	l := board.Listen(func(key string) { told <- key })
	l.Watch("a")
	require.Equal(t, "a", <-told, "it may have changed before it was watched")
	board.Tell("a")
	require.Equal(t, "a", <-told)
	board.Tell("b")
	board.TellBytes([]byte("a"))
	require.Equal(t, "a", <-told, "b is not watched")
	l.Unwatch("a")
	l.Watch("b")
	require.Equal(t, "b", <-told)
	board.Tell("a")
	board.Tell("b")
	require.Equal(t, "b", <-told)
	require.NoError(t, l.Close())
	require.NoError(t, l.Close())
	l.Watch("b")
	board.Tell("b") // nobody receives: a call of notify would never end
}

// TestBoardTellsOnce shows that what changes while notify runs is told once.
func TestBoardTellsOnce(t *testing.T) {
	t.Parallel()
	var board notice.Board
	told := make(chan string)
	l := board.Listen(func(key string) { told <- key })
	l.Watch("a")
	<-told
	board.Tell("a")
	for range 100 {
		board.Tell("a")
	}
	l.Watch("last")
	seen := map[string]int{}
	for seen["last"] == 0 {
		seen[<-told]++
	}
	rest := make(chan struct{})
	go func() { // what is pending beside "last" may be told after it
		defer close(rest)
		for key := range told {
			seen[key]++
		}
	}()
	require.NoError(t, l.Close())
	close(told)
	<-rest
	require.LessOrEqual(t, seen["a"], 2)
}
