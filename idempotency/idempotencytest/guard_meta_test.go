package idempotencytest_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// guardBugVariable names the bug of the Guard in the test binary that
// buildWrong makes.
const guardBugVariable = "SEMEL_IDEMPOTENCY_BUG"

// A Guard's faults are in its source, so the suite is run on a Guard whose
// source was edited to have all of them, each behind a switch.
func TestSuiteFindsBrokenGuards(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiles package idempotency again")
	}
	binary, stale := buildWrong(t)
	t.Run("NoBug", func(t *testing.T) {
		t.Parallel()
		out, err := runWrong(t, binary, "", "Guard.*")
		require.NoError(t, err, out)
	})
	for law, names := range guardBugs() {
		for _, bug := range names {
			t.Run(law+"/"+strings.ReplaceAll(bug, " ", "_"), func(t *testing.T) {
				t.Parallel()
				require.Empty(t, stale[bug], "package idempotency has changed: the edit by which it %s no longer finds its one place", bug)
				out, err := runWrong(t, binary, bug, law)
				require.Error(t, err, "the suite passes on a Guard that %s:\n%s", bug, out)
				require.Contains(t, out, "--- FAIL: TestConformance/"+law, "another way to fail than the law:\n%s", out)
				require.NotContains(t, out, "panic:", "the suite fell over")
			})
		}
	}
}

func TestEveryEditIsUsed(t *testing.T) {
	t.Parallel()
	edits := map[string]bool{}
	for _, e := range guardEdits() {
		edits[e.name] = true
	}
	unused := map[string]bool{}
	for name := range edits {
		unused[name] = true
	}
	for law, names := range guardBugs() {
		for _, name := range names {
			require.True(t, edits[name], "%s is to find what no edit makes: %q", law, name)
			delete(unused, name)
		}
	}
	require.Empty(t, unused, "edits that no law is to find")
}

// buildWrong compiles the tests of memstore with a package idempotency that has
// all edits, and returns the binary. The source is left alone: the compiler
// reads the edited files in its place. Stale holds what the edits looked for
// that did not find their place, by name.
func buildWrong(t *testing.T) (binary string, stale map[string]string) {
	t.Helper()
	dir := t.TempDir()
	source, err := filepath.Abs("..")
	require.NoError(t, err)
	overlay := map[string]string{}
	put := func(file, text string) {
		to := filepath.Join(dir, file)
		require.NoError(t, os.WriteFile(to, []byte(text), 0o600))
		overlay[filepath.Join(source, file)] = to
	}
	stale = map[string]string{}
	texts := map[string]string{}
	for _, e := range guardEdits() {
		text, ok := texts[e.file]
		if !ok {
			b, err := os.ReadFile(filepath.Join(source, e.file))
			require.NoError(t, err)
			text = string(b)
		}
		if strings.Count(text, e.old) != 1 {
			stale[e.name] = e.file + ": " + e.old
			continue
		}
		texts[e.file] = strings.Replace(text, e.old, strings.ReplaceAll(e.new, "WRONG", "wrong("+strconv.Quote(e.name)+")"), 1)
	}
	for file, text := range texts {
		put(file, text)
	}
	put("wrong.go", "package idempotency\n\nimport \"os\"\n\nvar bug = os.Getenv(\""+guardBugVariable+"\")\n\n"+
		"func wrong(name string) bool { return name == bug }\n")
	list := filepath.Join(dir, "overlay.json")
	b, err := json.Marshal(map[string]any{"Replace": overlay})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(list, b, 0o600))

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	binary = filepath.Join(dir, "wrong.test")
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-o", binary, "-overlay", list, "../memstore")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return binary, stale
}

// runWrong runs one law, or those that match a pattern, with a bug.
func runWrong(t *testing.T, binary, bug, law string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary,
		"-test.run=^TestConformance$/^"+law+"$", "-test.count=1", "-test.timeout=100s")
	cmd.Env = append(os.Environ(), guardBugVariable+"="+bug)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
