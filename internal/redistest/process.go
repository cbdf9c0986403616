package redistest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// stopTimeout is how long a process may take to end by itself.
const stopTimeout = 15 * time.Second

// process is a child process and the goroutine that waits for it.
type process struct {
	os   *os.Process
	done chan struct{} // closed once the child is dead and waited for
	err  error         // how it ended; set before done is closed
}

// spawn starts a program whose output is appended to the file log.
//
// The kernel kills the child when the thread that started it ends, not when
// the process does. Go ends threads as it likes, so the child is started by a
// goroutine that keeps its thread to itself until the child is dead.
func spawn(program string, args []string, log string) (*process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(context.Background(), program, args...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = attributes()

	p := &process{done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.done)
		defer out.Close()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		p.os = cmd.Process
		started <- nil
		p.err = cmd.Wait()
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	return p, nil
}

// ended reports whether the process is dead.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// kill ends the process at once, also if it is paused, and waits for its end.
func (p *process) kill() error {
	err := p.os.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		<-p.done
		return nil
	}
	if err != nil {
		return err
	}
	// It may have forked to save its data, which must not appear later.
	err = killGroup(p.os.Pid)
	<-p.done
	return err
}

// stop asks the process to end, waits, and kills it if that takes too long.
func (p *process) stop() error {
	// A paused process would hear of it only after it is resumed.
	if err := errors.Join(terminate(p.os), resume(p.os)); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	late := time.NewTimer(stopTimeout)
	defer late.Stop()
	select {
	case <-p.done:
		return nil
	case <-late.C:
		return errors.Join(fmt.Errorf("still running %v after it was asked to end", stopTimeout), p.kill())
	}
}
