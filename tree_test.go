package semel_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// goPackage is what go list tells of a package.
type goPackage struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
	Module                             struct{ Path string }
}

// goMod is what go mod edit tells of a go.mod.
type goMod struct {
	Module  struct{ Path string }
	Require []struct {
		Path     string
		Indirect bool
	}
	Replace []struct{ Old, New struct{ Path string } }
}

// listPackages returns the packages of the module in dir as each of the systems
// that we care for sees them, so that a file for one of them hides nothing.
func listPackages(t *testing.T, dir string, flags ...string) []goPackage {
	t.Helper()
	var pkgs []goPackage
	for _, system := range []string{"linux", "darwin", "windows"} {
		args := append([]string{"list", "-json=ImportPath,Imports,TestImports,XTestImports,Module"}, flags...)
		out := runGo(t, dir, []string{"GOOS=" + system, "GOWORK=off"}, append(args, "./...")...)
		for dec := json.NewDecoder(bytes.NewReader(out)); ; {
			var pkg goPackage
			err := dec.Decode(&pkg)
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			pkgs = append(pkgs, pkg)
		}
	}
	require.NotEmpty(t, pkgs, "no package in %s", dir)
	return pkgs
}

// readModule returns the go.mod in dir.
func readModule(t *testing.T, dir string) goMod {
	t.Helper()
	var mod goMod
	goJSON(t, dir, &mod, "mod", "edit", "-json")
	return mod
}

// moduleDirs returns the directory of each module, the root first. The tools
// are none of them: they share no code and no versions with us.
func moduleDirs(t *testing.T) []string {
	t.Helper()
	var dirs []string
	for _, file := range walkTree(t, "go.mod") {
		if dir := path.Dir(file); dir != "tools" {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	return dirs
}

// walkTree returns the files of the tree whose name ends in suffix, as slash
// paths relative to the root. Hidden directories and those the go command does
// not look into are left out.
func walkTree(t *testing.T, suffix string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(".", func(file string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && file != "." && (name[0] == '.' || name[0] == '_' || name == "testdata" || name == "vendor") {
			return filepath.SkipDir
		}
		if !d.IsDir() && strings.HasSuffix(name, suffix) {
			files = append(files, filepath.ToSlash(file))
		}
		return nil
	})
	require.NoError(t, err)
	return files
}

// goJSON runs the go command in dir and decodes what it prints into v.
func goJSON(t *testing.T, dir string, v any, args ...string) {
	t.Helper()
	require.NoError(t, json.Unmarshal(runGo(t, dir, nil, args...), v))
}

// runGo runs the go command in dir, without leave to change a go.mod, and
// returns what it printed.
func runGo(t *testing.T, dir string, env []string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly -buildvcs=false")
	cmd.Env = append(cmd.Env, env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "go %s in %s:\n%s", strings.Join(args, " "), dir, stderr.Bytes())
	return out
}
