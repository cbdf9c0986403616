package locktest_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/lock"
	"github.com/semel-go/semel/lock/locktest"
	"github.com/semel-go/semel/lock/memlock"
)

// brokenVariable names the broken backend that TestBroken runs the suite on.
const brokenVariable = "SEMEL_LOCKTEST_BROKEN"

// A suite that passes proves nothing unless it can fail. Each broken backend
// is one that somebody could have written, and must fail the law that it is
// listed with.
func TestSuiteFindsBrokenBackends(t *testing.T) {
	t.Parallel()
	for _, b := range brokenBackends() {
		t.Run(b.law+"/"+strings.ReplaceAll(b.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			out, err := runBroken(t, b.name, b.law)
			require.Error(t, err, "the suite passes on a backend that %s:\n%s", b.name, out)
			require.Contains(t, out, "--- FAIL: TestBroken/"+b.law, "another way to fail than the law:\n%s", out)
			require.Contains(t, out, "why: ", "a failure does not say why the law exists")
			require.NotContains(t, out, "panic:", "the suite fell over")
		})
	}
}

func TestSuitePassesOnTheBackendTheBrokenOnesAreMadeOf(t *testing.T) {
	t.Parallel()
	out, err := runBroken(t, "", "")
	require.NoError(t, err, out)
}

func TestEveryLawCanFail(t *testing.T) {
	t.Parallel()
	broken, names := map[string]bool{}, map[string]bool{}
	for _, m := range mutations() {
		for _, law := range m.laws {
			broken[law] = true
		}
	}
	for _, b := range brokenBackends() {
		broken[b.law] = true
		require.False(t, names[b.name], "two broken backends are named %q", b.name)
		names[b.name] = true
	}
	for _, name := range locktest.LawNames() {
		require.True(t, broken[name], "no broken backend shows that the law %s can fail", name)
		delete(broken, name)
	}
	require.Empty(t, broken, "broken backends for laws that do not exist")
}

func TestNastyKeysAreDistinct(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, key := range locktest.NastyKeys() {
		require.NotEmpty(t, key)
		require.False(t, seen[key], "%.40q is twice in the list", key)
		seen[key] = true
	}
}

// runBroken runs one law, or all if law is empty, in another process.
func runBroken(t *testing.T, name, law string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	pattern := "^TestBroken$"
	if law != "" {
		pattern += "/^" + law + "$"
	}
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run="+pattern, "-test.count=1", "-test.timeout=100s")
	cmd.Env = append(os.Environ(), brokenVariable+"="+name)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestBroken is run by the tests above, in a process of its own.
func TestBroken(t *testing.T) {
	t.Parallel()
	name, ok := os.LookupEnv(brokenVariable)
	if !ok {
		t.Skip("run by other tests")
	}
	build := func(_ *testing.T, m *memlock.Backend) lock.Backend { return m }
	for _, b := range brokenBackends() {
		if b.name == name {
			build = b.build
		}
	}
	locktest.Run(t, locktest.Harness{
		New: func(t *testing.T) locktest.Store {
			open := func() lock.Backend {
				m, err := memlock.New(memlock.Options{})
				require.NoError(t, err)
				return build(t, m)
			}
			b := open()
			s := locktest.Store{Backend: b, Rewind: func() func() lock.Backend { return open }}
			if r, ok := b.(interface{ rewind() func() lock.Backend }); ok {
				s.Rewind = r.rewind
			}
			return s
		},
		Isolate:  synctest.Test,
		Features: locktest.Features{Fencing: true, Waiting: true, Batch: true, Inspect: true, Raise: true},
	})
}
