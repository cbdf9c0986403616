//go:build unix && !linux

package sqltest

import (
	"errors"
	"syscall"
)

// bind does nothing: outside Linux a killed test process leaves its servers
// behind.
func bind(*syscall.SysProcAttr) {}

// children is empty: a paused PostgreSQL's sessions go on.
func children(int) []int { return nil }

// paused takes the signal's word for it.
func paused(int) bool { return true }

// alive reports whether a process is there.
func alive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
