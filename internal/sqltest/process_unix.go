//go:build unix

package sqltest

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
)

const (
	killSignal   = syscall.SIGKILL
	stopSignal   = syscall.SIGSTOP
	resumeSignal = syscall.SIGCONT
	fastSignal   = syscall.SIGINT
	quitSignal   = syscall.SIGQUIT
	termSignal   = syscall.SIGTERM
)

// signal sends a signal, unless the process is gone.
func signal(pid int, s syscall.Signal) error {
	if err := syscall.Kill(pid, s); !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// attributes make a program run as the user.
func (u user) attributes() *syscall.SysProcAttr {
	if !u.other {
		return &syscall.SysProcAttr{}
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: u.uid, Gid: u.gid}}
}

// watch starts a guard that kills stopped processes once this process is dead:
// they hear of nothing else, also not of their parent's end. The guard waits
// for the end of a pipe that this process holds open.
func (p *process) watch(pids []int) error {
	script := "trap '' HUP INT TERM; cat >/dev/null; kill -KILL " + strings.Trim(fmt.Sprint(pids), "[]")
	p.guard = exec.CommandContext(context.Background(), "/bin/sh", "-c", script)
	p.guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if _, err := p.guard.StdinPipe(); err != nil {
		return err
	}
	return p.guard.Start()
}

// dismiss ends the guard.
func (p *process) dismiss() error {
	if p.guard == nil {
		return nil
	}
	// The group: the shell waits for cat, which would see the pipe's end.
	err := syscall.Kill(-p.guard.Process.Pid, syscall.SIGKILL)
	_ = p.guard.Wait() // It was killed, as it should be.
	p.guard = nil
	return err
}
