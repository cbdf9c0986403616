package redisstore_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestMain fails if a goroutine of ours outlives the tests.
func TestMain(m *testing.M) {
	code := m.Run()
	left := running()
	for end := time.Now().Add(5 * time.Second); left != "" && time.Now().Before(end); left = running() {
		time.Sleep(time.Millisecond)
	}
	if left != "" && code == 0 {
		fmt.Printf("still running after the tests:\n%s\n", left)
		code = 1
	}
	os.Exit(code)
}

// running returns the stacks of the goroutines that run code of this package or
// of redisclient.
func running() string {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	var ours []string
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		if strings.Contains(stack, "semel/internal/redisclient.") || strings.Contains(stack, "semel/idempotency/redisstore.") {
			ours = append(ours, stack)
		}
	}
	return strings.Join(ours, "\n\n")
}
