package idempotencytest_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/idempotency"
	"github.com/semel-go/semel/idempotency/idempotencytest"
	"github.com/semel-go/semel/lock"
)

var (
	_ idempotency.Store        = (*model)(nil)
	_ idempotency.BatchRenewer = (*model)(nil)
	_ idempotency.Binder       = (*model)(nil)
	_ idempotency.Inspector    = (*model)(nil)
	_ lock.Interruptible       = (*model)(nil)
	_ lock.Waiter              = (*model)(nil)
)

// bugVariable names the bug with which TestBroken runs the suite.
const bugVariable = "SEMEL_IDEMPOTENCYTEST_BUG"

// A suite that passes proves nothing unless it can fail.
func TestSuiteFindsBrokenStores(t *testing.T) {
	t.Parallel()
	for law, names := range bugs() {
		for _, bug := range names {
			t.Run(law+"/"+strings.ReplaceAll(bug, " ", "_"), func(t *testing.T) {
				t.Parallel()
				out, err := runBroken(t, bug, law)
				require.Error(t, err, "the suite passes on a store that %s:\n%s", bug, out)
				require.Contains(t, out, "--- FAIL: TestBroken/"+law, "another way to fail than the law:\n%s", out)
				require.Contains(t, out, "why: ", "a failure does not say why the law exists")
				require.NotContains(t, out, "panic:", "the suite fell over")
			})
		}
	}
}

func TestSuitePassesOnTheModelWithoutBugs(t *testing.T) {
	t.Parallel()
	out, err := runBroken(t, "", "")
	require.NoError(t, err, out)
}

func TestEveryLawCanFail(t *testing.T) {
	t.Parallel()
	broken := bugs()
	for law, names := range guardBugs() {
		broken[law] = append(broken[law], names...)
	}
	for _, name := range idempotencytest.LawNames() {
		require.NotEmpty(t, broken[name], "no broken store shows that the law %s can fail", name)
		delete(broken, name)
	}
	require.Empty(t, broken, "bugs of laws that do not exist")
}

// runBroken runs one law, or all if law is empty, in another process.
func runBroken(t *testing.T, bug, law string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	pattern := "^TestBroken$"
	if law != "" {
		pattern += "/^" + law + "$"
	}
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run="+pattern, "-test.count=1", "-test.timeout=100s")
	cmd.Env = append(os.Environ(), bugVariable+"="+bug)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestBroken is run by the tests above, in a process of its own.
func TestBroken(t *testing.T) {
	t.Parallel()
	bug, ok := os.LookupEnv(bugVariable)
	if !ok {
		t.Skip("run by TestSuiteFindsBrokenStores")
	}
	idempotencytest.Run(t, idempotencytest.Harness{
		New: func(*testing.T) idempotencytest.Store {
			return idempotencytest.Store{
				Store:  newModel(bug),
				Rewind: func() func() idempotency.Store { return func() idempotency.Store { return newModel(bug) } },
			}
		},
		Isolate:  synctest.Test,
		Features: idempotencytest.Features{Waiting: true, Batch: true, Bind: true, Inspect: true},
	})
}
