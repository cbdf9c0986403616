package integration_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/lock/redislock"
)

// deputy is a process of its own that takes leases for a test, which may stop
// it or kill it. It is told what to do line by line, and answers each with one.
//
//	acquire KEY      -> its fence
//	watch DURATION   -> watching, and after a gap of that long in its own time:
//	                    what its first look at the lease found
//	extend, release  -> ok, lost, or the error
//	relay KEY N      -> the fences of N leases, each taken and given back
type deputy struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines chan string // closed when it has ended
}

func startDeputy(t *testing.T, addr string, ttl time.Duration) *deputy {
	t.Helper()
	return startRole(t, "deputy", "DEPUTY_REDIS="+addr, "DEPUTY_TTL="+ttl.String())
}

// startRole starts a process that plays a role and is spoken to line by line.
func startRole(t *testing.T, role string, env ...string) *deputy {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0])
	cmd.Env = append(append(os.Environ(), roleEnv+"="+role), env...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	d := &deputy{cmd, stdin, make(chan string, 16)}
	go func() {
		defer close(d.lines)
		in := bufio.NewScanner(stdout)
		for in.Scan() {
			d.lines <- in.Text()
		}
		_ = cmd.Wait() // not before: it closes the pipe
	}()
	t.Cleanup(d.kill)
	return d
}

// tell tells the deputy what to do.
func (d *deputy) tell(t *testing.T, words ...any) {
	t.Helper()
	_, err := fmt.Fprintln(d.stdin, words...)
	require.NoError(t, err)
}

// answer returns what it says.
func (d *deputy) answer(t *testing.T) string {
	t.Helper()
	return await(t, d.lines, "the deputy's answer")
}

// acquire makes it take a lease, and returns the fence.
func (d *deputy) acquire(t *testing.T, key string) uint64 {
	t.Helper()
	d.tell(t, "acquire", key)
	line := d.answer(t)
	fence, err := strconv.ParseUint(line, 10, 64)
	require.NoError(t, err, line)
	return fence
}

// signal stops it (SIGSTOP) or lets it go on (SIGCONT).
func (d *deputy) signal(t *testing.T, s os.Signal) {
	t.Helper()
	require.NoError(t, d.cmd.Process.Signal(s))
}

// kill ends it at once, and waits for that.
func (d *deputy) kill() {
	_ = d.cmd.Process.Kill()
	for range d.lines {
		continue
	}
}

// deputyWorker is the other side.
func deputyWorker() int {
	ttl, err := time.ParseDuration(os.Getenv("DEPUTY_TTL"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("DEPUTY_REDIS")})
	backend, err := redislock.New(rdb, redislock.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	locker, err := lock.New(backend, patient(lock.Options{TTL: ttl}))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx := context.Background()
	var lease *lock.Lease
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		words := strings.Fields(in.Text())
		switch words[0] {
		case "acquire":
			if lease, err = locker.Acquire(ctx, words[1]); err != nil {
				fmt.Println(err)
				continue
			}
			fmt.Println(lease.Fence())
		case "watch":
			gap, _ := time.ParseDuration(words[1])
			fmt.Println("watching")
			fmt.Println(firstLook(lease, gap))
		case "extend":
			fmt.Println(outcome(lease.Extend(ctx, ttl)))
		case "release":
			fmt.Println(outcome(lease.Release(ctx)))
		case "relay":
			times, _ := strconv.Atoi(words[2])
			fmt.Println(relay(ctx, locker, words[1], times))
		}
	}
	return 0
}

// firstLook looks at a lease without a pause until it has not run itself for so
// long, or the lease has ended, and says what it found then.
func firstLook(lease *lock.Lease, gap time.Duration) string {
	for last := time.Now(); ; {
		now := time.Now()
		valid, err := lease.Valid(), lease.Context().Err()
		if now.Sub(last) > gap || !valid {
			return fmt.Sprint("valid ", valid, ", ended ", err != nil, ", lost ", errors.Is(context.Cause(lease.Context()), lock.ErrLost))
		}
		last = now
	}
}

func outcome(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, lock.ErrLost):
		return "lost"
	}
	return err.Error()
}

// relay takes a key some times and returns the fences.
func relay(ctx context.Context, l *lock.Locker, key string, times int) string {
	var fences []string
	for range times {
		lease, err := l.Acquire(ctx, key)
		if err != nil {
			return err.Error()
		}
		fences = append(fences, strconv.FormatUint(lease.Fence(), 10))
		if err := lease.Release(ctx); err != nil {
			return err.Error()
		}
	}
	return strings.Join(fences, " ")
}
