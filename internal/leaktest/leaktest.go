// Package leaktest holds the tests of a package to leave no goroutine behind.
// It knows the goroutines by their stacks, so it needs no list of exceptions:
// those of other packages do not count.
package leaktest

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// patience is how long goroutines may take to end after the last test: those
// that were told to end at the end of a test are not waited for by each.
const patience = 5 * time.Second

// Main runs m's tests and returns the code to exit with: 1 if they failed, or if
// a goroutine is still running code of one of pkgs, which are import paths or the
// ends of them.
func Main(m *testing.M, pkgs ...string) int {
	code := m.Run()
	left := Running(pkgs...)
	for end := time.Now().Add(patience); left != "" && time.Now().Before(end); left = Running(pkgs...) {
		time.Sleep(time.Millisecond)
	}
	if left != "" && code == 0 {
		fmt.Fprintf(os.Stderr, "still running after the tests:\n%s\n", left)
		return 1
	}
	return code
}

// Running returns the stacks of the goroutines that run code of one of pkgs.
func Running(pkgs ...string) string {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	var ours []string
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		runs := func(pkg string) bool { return strings.Contains(stack, pkg+".") }
		if slices.ContainsFunc(pkgs, runs) {
			ours = append(ours, stack)
		}
	}
	return strings.Join(ours, "\n\n")
}
