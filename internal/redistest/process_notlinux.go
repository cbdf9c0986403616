//go:build !linux

package redistest

import "syscall"

// attributes is empty: outside Linux a killed test process leaves its servers
// behind.
func attributes() *syscall.SysProcAttr { return nil }

// killGroup does nothing: the group is the test's own.
func killGroup(int) error { return nil }

// paused takes the signal's word for it.
func paused(int) bool { return true }
