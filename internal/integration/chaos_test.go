package integration_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/redistest"
)

const (
	chaosProcesses  = 4
	chaosGoroutines = 50
)

// chaosTime is how long the storm lasts; SEMEL_CHAOS_SECONDS sets it.
func chaosTime(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("SEMEL_CHAOS_SECONDS")
	if text == "" {
		return 10 * time.Second
	}
	seconds, err := strconv.Atoi(text)
	require.NoError(t, err, "SEMEL_CHAOS_SECONDS")
	return time.Duration(seconds) * time.Second
}

// TestChaos lets processes increment a register under one lock while they are
// killed and stopped at the worst moments: between looking at the lease and
// writing the register, and between the write and its answer.
func TestChaos(t *testing.T) {
	t.Parallel()
	r, s := storm(t, true)
	require.Zero(t, r.lost, "accepted values that were not the previous one plus one")
	require.Zero(t, r.back, "accepted fences below an earlier one")
	require.Equal(t, r.value, int64(len(r.log)), "every accepted write is one more")
	last := uint64(0)
	logged := make(map[int64]int, len(r.log))
	for _, e := range r.log {
		require.GreaterOrEqual(t, e.fence, last)
		last = e.fence
		logged[e.value]++
	}
	for value := range s.acked {
		require.Equal(t, 1, logged[value], "an acknowledged increment is in the log once")
	}
	unacked := len(r.log) - len(s.acked)
	require.LessOrEqual(t, unacked, s.kills, "at most one unacknowledged increment for each kill")
	require.Positive(t, s.kills)
	require.Positive(t, s.pauses)
	require.Greater(t, len(r.log), 100*s.kills, "work went on between the kills")
}

// TestChaosIsSeenWithoutFences is the same storm on a register that does not
// check fences: the harness must see the damage, or TestChaos proves nothing.
func TestChaosIsSeenWithoutFences(t *testing.T) {
	t.Parallel()
	r, _ := storm(t, false)
	require.Positive(t, r.lost, "lost updates")
	require.Positive(t, r.back, "writes of an older owner after a later one's")
}

// chaos is what a storm did.
type chaos struct {
	t        *testing.T
	register *register
	redis    string

	mu      sync.Mutex
	workers map[string]*worker
	acked   map[int64]bool
	kills   int
	pauses  int
	readers sync.WaitGroup
}

// worker is one process.
type worker struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	exited chan error // told when it has ended and all it said was read
}

func storm(t *testing.T, fenced bool) (*register, *chaos) {
	t.Helper()
	server := redistest.Start(t)
	c := &chaos{
		t: t, register: newRegister(t, fenced), redis: server.Addr(),
		workers: map[string]*worker{}, acked: map[int64]bool{},
	}
	for i := range chaosProcesses {
		c.start(fmt.Sprint("w", i))
	}
	end := time.Now().Add(chaosTime(t))
	for n := 0; time.Now().Before(end); n++ {
		time.Sleep(150*time.Millisecond + rand.N(200*time.Millisecond))
		switch n % 3 {
		case 0:
			c.pause()
		case 1:
			c.kill("R") // having read, before it writes
		case 2:
			c.kill("W") // having written, before it is told
		}
	}
	c.stop()
	t.Logf("%d increments, %d acknowledged, %d kills, %d pauses, %d updates lost, %d fences back",
		len(c.register.log), len(c.acked), c.kills, c.pauses, c.register.lost, c.register.back)
	return c.register, c
}

// start runs a worker, and reads what it acknowledges.
func (c *chaos) start(name string) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"=chaos", "CHAOS_REDIS="+c.redis, "CHAOS_REGISTER="+c.register.addr(),
		"CHAOS_NAME="+name, fmt.Sprint("CHAOS_GOROUTINES=", chaosGoroutines))
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stdout, err := cmd.StdoutPipe()
	require.NoError(c.t, err)
	stdin, err := cmd.StdinPipe()
	require.NoError(c.t, err)
	require.NoError(c.t, cmd.Start())
	c.mu.Lock()
	w := &worker{cmd, stdin, make(chan error, 1)}
	c.workers[name] = w
	c.mu.Unlock()
	c.readers.Go(func() {
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			value, err := strconv.ParseInt(lines.Text(), 10, 64)
			if err != nil {
				continue // cut off by a kill
			}
			c.mu.Lock()
			c.acked[value] = true
			c.mu.Unlock()
		}
		w.exited <- cmd.Wait() // not before: it closes the pipe
	})
}

// next waits until the register has applied a request of the given kind, and
// calls f with the worker that made it, before the worker is answered.
func (c *chaos) next(op string, f func(name string, w *worker)) bool {
	done := make(chan struct{})
	var once sync.Once
	c.register.setHook(func(got, name string) {
		if got == op {
			once.Do(func() {
				c.mu.Lock()
				w := c.workers[name]
				c.mu.Unlock()
				f(name, w)
				close(done)
			})
		}
	})
	defer c.register.setHook(nil)
	select {
	case <-done:
		return true
	case <-time.After(5 * time.Second):
		c.t.Error("nobody asked the register for 5 s")
		return false
	}
}

// pause stops a worker that has found its lease valid and is about to write the
// register, for longer than its lease.
func (c *chaos) pause() {
	var stopped *worker
	if !c.next("S", func(_ string, w *worker) {
		stopped = w
		_ = w.cmd.Process.Signal(syscall.SIGSTOP)
	}) {
		return
	}
	c.pauses++
	time.Sleep(2*chaosTTL + 100*time.Millisecond)
	_ = stopped.cmd.Process.Signal(syscall.SIGCONT)
}

// kill kills a worker whose request was applied, before it is answered, and
// starts another in its place.
func (c *chaos) kill(op string) {
	var victim string
	if !c.next(op, func(name string, w *worker) {
		victim = name
		_ = w.cmd.Process.Kill()
		<-w.exited
	}) {
		return
	}
	c.kills++
	c.start(victim)
}

// stop lets the workers end by themselves, and waits for them and for what they
// have said.
func (c *chaos) stop() {
	for _, w := range c.workers {
		_ = w.stdin.Close()
	}
	c.readers.Wait()
	for name, w := range c.workers {
		require.NoError(c.t, <-w.exited, name)
	}
}
