//go:build !unix

package sqltest

import (
	"errors"
	"os"
	"syscall"
)

const (
	killSignal   = syscall.SIGKILL
	stopSignal   = syscall.Signal(0x13)
	resumeSignal = syscall.Signal(0x12)
	fastSignal   = syscall.SIGINT
	quitSignal   = syscall.SIGQUIT
	termSignal   = syscall.SIGTERM
)

// signal can end a process and nothing else.
func signal(pid int, s syscall.Signal) error {
	if s != killSignal {
		return errors.ErrUnsupported
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return nil
	}
	return p.Kill()
}

func (user) attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
func bind(*syscall.SysProcAttr)               {}
func children(int) []int                      { return nil }
func paused(int) bool                         { return true }
func alive(int) bool                          { return false }
func (*process) watch([]int) error            { return nil }
func (*process) dismiss() error               { return nil }
