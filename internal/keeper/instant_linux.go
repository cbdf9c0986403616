package keeper

import (
	"syscall"
	"time"
	"unsafe"
)

// clockBoottime is CLOCK_BOOTTIME of clock_gettime(2): monotonic, and counting
// while the system is suspended.
const clockBoottime = 7

func bootNanos() int64 {
	var ts syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&ts)), 0)
	if errno != 0 { // a kernel older than 2.6.39, or a sandbox that hides it
		return time.Now().UnixNano()
	}
	return ts.Nano()
}
