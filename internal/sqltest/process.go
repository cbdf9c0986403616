package sqltest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"time"
)

// stopTimeout is how long a process may take to end by itself.
const stopTimeout = 30 * time.Second

// process is a server and the goroutine that waits for it.
type process struct {
	os   *os.Process
	done chan struct{} // closed once the child is dead and waited for
	err  error         // how it ended; set before done is closed

	asleep []int     // what pause has stopped, the server first
	guard  *exec.Cmd // kills those if this process dies
}

// spawn starts a program as a user, its output appended to the file log.
//
// The kernel kills the child when the thread that started it ends, not when
// the process does. Go ends threads as it likes, so the child is started by a
// goroutine that keeps its thread to itself until the child is dead.
func spawn(c command, as user, log string) (*process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	cmd := c.build(context.Background())
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = as.attributes()
	bind(cmd.SysProcAttr)

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
		return nil, fmt.Errorf("start %s: %w", c.program, err)
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

// kill ends the server and all its processes at once, paused or not, and waits
// for their end.
func (p *process) kill() error {
	// A server that is stopped forks no more, and so none is overlooked.
	all, err := p.halt()
	if err != nil {
		return err
	}
	for _, pid := range all {
		err = errors.Join(err, signal(pid, killSignal))
	}
	if err != nil {
		return err
	}
	<-p.done
	p.asleep = nil
	return errors.Join(p.dismiss(), poll(stopTimeout, func() (bool, error) {
		return !slices.ContainsFunc(all, alive), nil
	}))
}

// stop asks the process to end by a signal, waits, and kills it if that takes
// too long.
func (p *process) stop(how os.Signal) error {
	if p.ended() {
		return nil
	}
	// A paused process would hear of it only after it is resumed.
	if err := errors.Join(p.os.Signal(how), p.resume()); err != nil && !errors.Is(err, os.ErrProcessDone) {
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

// pause stops the server and all its processes as they are.
func (p *process) pause() error {
	all, err := p.halt()
	if err != nil || len(all) == 0 || p.guard != nil {
		return err
	}
	p.asleep = all
	return p.watch(all)
}

// halt stops the server first and then its processes, and returns them all. It
// returns none if the server is dead.
func (p *process) halt() ([]int, error) {
	if p.ended() {
		return nil, nil
	}
	all := []int{p.os.Pid}
	if err := halt(p.os.Pid); err != nil {
		return nil, err
	}
	for _, child := range children(p.os.Pid) {
		all = append(all, child)
		if err := halt(child); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// halt stops one process and waits until the kernel has done so: sending the
// signal only asks for that.
func halt(pid int) error {
	if err := signal(pid, stopSignal); err != nil {
		return err
	}
	return poll(adminTimeout, func() (bool, error) { return paused(pid), nil })
}

// resume ends pause.
func (p *process) resume() error {
	err := p.dismiss()
	for _, pid := range slices.Backward(p.asleep) {
		err = errors.Join(err, signal(pid, resumeSignal))
	}
	p.asleep = nil
	return err
}
