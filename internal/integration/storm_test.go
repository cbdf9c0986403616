package integration_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/redisstore"
	"github.com/semel-go/semel/internal/redistest"
)

const (
	stormProcesses  = 4
	stormGoroutines = 25
	stormDuplicates = 20
)

// stormKeys is how many events there are; SEMEL_STORM_KEYS sets it.
func stormKeys(t *testing.T) int {
	t.Helper()
	text := os.Getenv("SEMEL_STORM_KEYS")
	if text == "" {
		return 400
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, "SEMEL_STORM_KEYS")
	return n
}

// TestStorm delivers events many times to processes that fail, panic, outlive
// their leases, are killed, and lose replies.
func TestStorm(t *testing.T) {
	t.Parallel()
	o := newStorm(t, stormKeys(t), false)
	o.run(t)
	twice, unexplained := o.second()
	t.Logf("%d events, %d deliveries, %d kills, %d replies dropped: %d second effects, each after a kill, a lost claim or an unacknowledged completion",
		len(o.journal), len(o.journal)*stormDuplicates, o.kills, o.dropped, len(twice))
	require.Empty(t, unexplained, "second effects without a cause")
	require.Positive(t, o.kills)
}

// TestStormCalm is the same without kills and lost replies: no event takes
// effect twice.
func TestStormCalm(t *testing.T) {
	t.Parallel()
	o := newStorm(t, stormKeys(t)/2, true)
	o.run(t)
	twice, _ := o.second()
	require.Empty(t, twice, "second effects")
}

type stormTest struct {
	*office
	calm  bool
	redis *redistest.Server
	proxy *redistest.Proxy

	procs   sync.Mutex
	workers map[int]*exec.Cmd
	waits   sync.WaitGroup
	kills   int
	dropped int
}

func newStorm(t *testing.T, keys int, calm bool) *stormTest {
	t.Helper()
	server := redistest.Start(t)
	s := &stormTest{
		office: newOffice(t, keys, stormDuplicates, rand.Shuffle), calm: calm,
		redis: server, proxy: redistest.NewProxy(t, server.Addr()), workers: map[int]*exec.Cmd{},
	}
	if !calm {
		s.proxy.OnRequest(func(args []string) redistest.Action {
			if strings.EqualFold(args[0], "EVALSHA") && rand.N(400) == 0 {
				s.procs.Lock()
				s.dropped++
				s.procs.Unlock()
				return redistest.Action{Fate: redistest.DropReply}
			}
			return redistest.Action{}
		})
	}
	return s
}

func (s *stormTest) start(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"=storm", "STORM_REDIS="+s.proxy.Addr(), "STORM_OFFICE="+s.ln.Addr().String(),
		fmt.Sprint("STORM_GOROUTINES=", stormGoroutines))
	if s.calm {
		cmd.Env = append(cmd.Env, "STORM_CALM=1")
	}
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, cmd.Start())
	s.procs.Lock()
	s.workers[cmd.Process.Pid] = cmd
	s.procs.Unlock()
	s.waits.Go(func() {
		_ = cmd.Wait()
		s.procs.Lock()
		delete(s.workers, cmd.Process.Pid)
		s.procs.Unlock()
	})
}

// run lets the storm go over the events until every delivery is acknowledged.
func (s *stormTest) run(t *testing.T) {
	t.Helper()
	for range stormProcesses {
		s.start(t)
	}
	deadline := time.After(2 * time.Minute)
	for over := false; !over; {
		select {
		case <-s.empty:
			over = true
		case <-deadline:
			s.mu.Lock()
			t.Errorf("%d deliveries left", s.left)
			s.mu.Unlock()
			over = true
		case <-time.After(300*time.Millisecond + rand.N(300*time.Millisecond)):
			if !s.calm {
				s.kill(t)
			}
		}
	}
	s.proxy.OnRequest(nil)
	s.waits.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Empty(t, s.faults)
	s.check(t)
}

// kill kills a process, at times one that has just committed an effect and has
// not been told, and starts another.
func (s *stormTest) kill(t *testing.T) {
	worst := make(chan struct{}, 1)
	s.mu.Lock()
	s.hook = func(event string, _ net.Conn) {
		if event == "EFFECT" {
			select {
			case worst <- struct{}{}:
			default:
			}
		}
	}
	s.mu.Unlock()
	if rand.N(2) == 0 {
		select {
		case <-worst:
		case <-time.After(200 * time.Millisecond):
		}
	}
	s.mu.Lock()
	s.hook = nil
	s.mu.Unlock()
	s.procs.Lock()
	for _, cmd := range s.workers {
		_ = cmd.Process.Kill()
		s.kills++
		break
	}
	s.procs.Unlock()
	s.start(t)
}

// check looks into the store: every event is completed, with the value that was
// acknowledged.
func (s *stormTest) check(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: s.redis.Addr()})
	defer rdb.Close()
	store, err := redisstore.New(rdb, redisstore.Options{})
	require.NoError(t, err)
	guard, err := idempotency.New(store, idempotency.Options{})
	require.NoError(t, err)
	for id, h := range s.journal {
		value, err := idempotency.Do(t.Context(), guard, idempotency.Key{Scope: "storm", ID: id},
			func(context.Context) (string, error) { return "", errStorm })
		require.NoError(t, err, "every event completes")
		require.Equal(t, h.value, value)
	}
	require.NoError(t, guard.Close(t.Context()))
}
