package sqltest

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// bind makes the kernel kill the child with the thread that started it, and
// gives the child a process group of its own.
func bind(a *syscall.SysProcAttr) { a.Pdeathsig, a.Setpgid = syscall.SIGKILL, true }

// children are the processes that a process has started.
func children(pid int) []int {
	entries, _ := os.ReadDir("/proc")
	var found []int
	for _, e := range entries {
		child, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if _, parent := status(e.Name() + "/stat"); parent == pid {
			found = append(found, child)
		}
	}
	return found
}

// paused reports whether the kernel has stopped every thread of the process,
// or the process is dead.
func paused(pid int) bool {
	dir := strconv.Itoa(pid) + "/task/"
	tasks, err := os.ReadDir("/proc/" + dir)
	if err != nil {
		return true
	}
	for _, task := range tasks {
		if state, _ := status(dir + task.Name() + "/stat"); !stopped(state) && !dead(state) {
			return false
		}
	}
	return true
}

// alive reports whether a process is there and not merely not yet waited for.
func alive(pid int) bool {
	state, _ := status(strconv.Itoa(pid) + "/stat")
	return !dead(state)
}

func stopped(state string) bool { return state == "T" || state == "t" }

// dead tells of a process that is gone, or not yet waited for.
func dead(state string) bool { return state == "Z" || state == "X" }

// status reads a state and a parent from a file under /proc. A process that is
// gone is dead ("X") and has none.
func status(file string) (state string, parent int) {
	stat, err := os.ReadFile("/proc/" + file)
	if err != nil {
		return "X", 0
	}
	// Both follow the name, which is in brackets and may hold any.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 2 {
		return "X", 0
	}
	parent, _ = strconv.Atoi(fields[1])
	return fields[0], parent
}
