package redistest_test

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/redistest"
)

func TestStartAnswers(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	require.Equal(t, "PONG", s.MustDo("PING"))
	require.Equal(t, "OK", s.MustDo("SET", "key", 7))
	require.Equal(t, "7", s.MustDo("GET", []byte("key")))
	require.Nil(t, s.MustDo("GET", "absent"))
	require.Equal(t, int64(8), s.MustDo("INCR", "key"))
	require.Equal(t, []any{"8", nil}, s.MustDo("MGET", "key", "absent"))

	_, err := s.Do("LPUSH", "key", "x")
	var failed redistest.ReplyError
	require.ErrorAs(t, err, &failed)
	require.True(t, strings.HasPrefix(failed.Error(), "WRONGTYPE"))
}

func TestTwoServersAreTwo(t *testing.T) {
	t.Parallel()
	a, b := redistest.Start(t), redistest.Start(t)
	require.NotEqual(t, a.Addr(), b.Addr())
	require.NotEqual(t, a.Dir(), b.Dir())
	require.NotEqual(t, a.Pid(), b.Pid())
	a.MustDo("SET", "key", "a")
	require.Nil(t, b.MustDo("GET", "key"))
}

func TestConfigIsApplied(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Options{
		UnixSocket: true,
		Config:     []string{"maxmemory 9mb", "maxmemory-policy allkeys-lru"},
	})
	require.Equal(t, []any{"maxmemory", "9437184"}, s.MustDo("CONFIG", "GET", "maxmemory"))
	info, err := os.Stat(s.Socket())
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSocket)
}

func TestKillLosesData(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	addr, pid := s.Addr(), s.Pid()
	s.MustDo("SET", "key", "value")
	s.Kill()
	s.Kill() // Nothing is left to kill.
	_, err := s.Do("PING")
	require.ErrorIs(t, err, syscall.ECONNREFUSED)

	s.Restart()
	require.Equal(t, addr, s.Addr())
	require.NotEqual(t, pid, s.Pid())
	require.Nil(t, s.MustDo("GET", "key"))
}

func TestAppendOnlyKeepsData(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Options{AppendOnly: true})
	s.MustDo("SET", "key", "value")
	s.Kill()
	s.Restart()
	require.Equal(t, "value", s.MustDo("GET", "key"))
	s.RestartKeep()
	require.Equal(t, "value", s.MustDo("GET", "key"))
	s.RestartEmpty()
	require.Nil(t, s.MustDo("GET", "key"))
}

func TestSnapshotGoesBackInTime(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	s.MustDo("SET", "key", "old")
	s.MustDo("SET", "short", "x", "PX", 1)
	s.MustDo("SET", "long", "x", "PX", 100_000)
	old := s.Snapshot()
	s.MustDo("SET", "key", "new")

	s.RestartKeep()
	require.Equal(t, "new", s.MustDo("GET", "key"))
	s.RestartFrom(old)
	require.Equal(t, "old", s.MustDo("GET", "key"))
	require.Nil(t, s.MustDo("GET", "short"))
	left, _ := s.MustDo("PTTL", "long").(int64)
	require.Greater(t, left, int64(0))
	require.LessOrEqual(t, left, int64(100_000))

	s.Restart()
	require.Nil(t, s.MustDo("GET", "key"), "a snapshot is loaded once")
	other := redistest.Start(t)
	other.RestartFrom(old)
	require.Equal(t, "old", other.MustDo("GET", "key"))
}

func TestStopEndsGracefully(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	s.Pause()
	s.Stop()
	_, err := s.Do("PING")
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	s.Resume() // Of no effect.
	s.Restart()
	require.Equal(t, "PONG", s.MustDo("PING"))
}

func TestPauseLeavesRequestsPending(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := dial(t, s.Addr())
	s.Pause()
	require.NoError(t, c.Send("SET", "key", "value"))
	require.NoError(t, c.SetDeadline(time.Now().Add(50*time.Millisecond)))
	_, err := c.Receive()
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)

	s.Resume()
	require.NoError(t, c.SetDeadline(time.Now().Add(10*time.Second)))
	reply, err := c.Receive()
	require.NoError(t, err)
	require.Equal(t, "OK", reply)
}

func TestPausedServerIsKilled(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	s.Pause()
	s.Kill()
	s.Restart()
	require.Equal(t, "PONG", s.MustDo("PING"))
}

func TestReplicaHasTheData(t *testing.T) {
	t.Parallel()
	master, replica := redistest.Start(t), redistest.Start(t)
	master.MustDo("SET", "key", "value")
	replica.ReplicaOf(master)
	require.Equal(t, "value", replica.MustDo("GET", "key"))
	replica.ReplicaOf(nil)
	replica.MustDo("SET", "key", "own")
	require.Equal(t, "value", master.MustDo("GET", "key"))
}
