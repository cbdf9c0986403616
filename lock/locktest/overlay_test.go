package locktest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mutantVariable names the mutation that runs in a binary that has them all.
const mutantVariable = "SEMEL_LOCKTEST_MUTANT"

// mutantSource is added to each package that a mutation is made in.
const mutantSource = `package %s

import "os"

var mutantName = os.Getenv(%q)

var mutantMemory bool

func mutant(name string) bool { return name == mutantName }

func mutated[T any](is bool, wrong, right T) T {
	if is {
		return wrong
	}
	return right
}
`

// The laws about Lockers must find mistakes of the Locker. These cannot be made
// by a backend: they are made in the Locker's own sources, all at once, in one
// test binary that is told which of them to make.
func TestSuiteFindsBrokenLockers(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiles the package again")
	}
	binary := filepath.Join(t.TempDir(), "locktest.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", binary, "-overlay", overlay(t), ".")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "the mutations do not compile:\n%s", out)

	t.Run("None", func(t *testing.T) {
		t.Parallel()
		out, err := runMutant(t, binary, "", "Locker.*")
		require.NoError(t, err, "the suite fails on a Locker without a mistake:\n%s", out)
	})
	for _, m := range mutations() {
		for _, law := range m.laws {
			t.Run(law+"/"+strings.ReplaceAll(m.name, " ", "_"), func(t *testing.T) {
				t.Parallel()
				out, err := runMutant(t, binary, m.name, law)
				require.Error(t, err, "the suite passes on a Locker that %s:\n%s", m.name, out)
				require.Contains(t, out, "--- FAIL: TestBroken/"+law, "another way to fail than the law:\n%s", out)
				// What a broken Locker leaves behind, the bubble sees as well.
				out = strings.ReplaceAll(out, "panic: deadlock: main bubble goroutine has exited but blocked goroutines remain", "")
				require.NotContains(t, out, "panic:", "the suite fell over")
			})
		}
	}
}

// runMutant runs laws on a sound backend and a Locker with one mistake.
func runMutant(t *testing.T, binary, name, laws string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, "-test.run=^TestBroken$/^"+laws+"$", "-test.timeout=100s")
	cmd.Env = append(os.Environ(), brokenVariable+"=", mutantVariable+"="+name)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// overlay writes the mutated sources and returns the file that tells the go
// command to take them in place of the real ones.
func overlay(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	sources, names := map[string]string{}, map[string]bool{}
	for _, m := range mutations() {
		require.False(t, names[m.name], "two mutations are named %q", m.name)
		names[m.name] = true
		for _, e := range m.edits {
			file := filepath.Join(root, filepath.FromSlash(e.file))
			original, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, 1, strings.Count(string(original), e.old),
				"the Locker has changed: adapt the mutation %q, whose text must occur once in %s:\n%s", m.name, e.file, e.old)
			if sources[file] == "" {
				sources[file] = string(original)
			}
			require.Equal(t, 1, strings.Count(sources[file], e.old), "the mutation %q meets another", m.name)
			text := strings.ReplaceAll(e.new, "MUTANT", fmt.Sprintf("mutant(%q)", m.name))
			sources[file] = strings.Replace(sources[file], e.old, text, 1)
			added := filepath.Join(filepath.Dir(file), "mutant_of_locktest.go")
			sources[added] = fmt.Sprintf(mutantSource, path.Base(path.Dir(e.file)), mutantVariable)
		}
	}
	dir, replace := t.TempDir(), map[string]string{}
	for file, text := range sources {
		copied := filepath.Join(dir, fmt.Sprint(len(replace))+".go")
		require.NoError(t, os.WriteFile(copied, []byte(text), 0o600))
		replace[file] = copied
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	name := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(name, list, 0o600))
	return name
}
