package semel_test

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// modulePath is the path of the root module.
const modulePath = "github.com/semel-go/semel"

// TestDependenciesImports holds every package of every module against the
// table of what it may import.
func TestDependenciesImports(t *testing.T) {
	t.Parallel()
	told := map[string]bool{} // a file that every system sees is one problem
	for _, dir := range moduleDirs(t) {
		for _, pkg := range listPackages(t, dir) {
			for _, problem := range checkImports(importTable(), pkg) {
				if !told[problem] {
					t.Error(problem)
				}
				told[problem] = true
			}
		}
	}
}

// TestDependenciesTable shows that the check can fail: on an import that is not
// listed, on a guarded one of the standard library, on a package that is not
// listed, and on a test import in production code.
func TestDependenciesTable(t *testing.T) {
	t.Parallel()
	table := []rule{
		{pkg: "api", imports: []string{"base"}, tests: []string{testify}, why: "the API is light"},
		{pkg: "tool/...", imports: []string{"testing"}, why: "tools are ours alone"},
	}
	ours := func(p string) string { return modulePath + "/" + p }
	for name, tc := range map[string]struct {
		pkg  goPackage
		want string
	}{
		"allowed":             {goPackage{ImportPath: ours("api"), Imports: []string{"net/http", ours("base")}, XTestImports: []string{testify + "/require", "testing", ours("api")}}, ""},
		"below a tree":        {goPackage{ImportPath: ours("tool/x"), Imports: []string{"testing/iotest", ours("tool/y")}}, ""},
		"package not listed":  {goPackage{ImportPath: ours("new")}, "new is not in the table"},
		"root not listed":     {goPackage{ImportPath: modulePath}, ". is not in the table"},
		"package of ours":     {goPackage{ImportPath: ours("api"), Imports: []string{ours("bas")}}, "api imports bas,"},
		"third party":         {goPackage{ImportPath: ours("api"), Imports: []string{"example.org/x"}}, "the API is light"},
		"path is no prefix":   {goPackage{ImportPath: ours("api"), XTestImports: []string{testify + "x"}}, "a test of api imports"},
		"test only":           {goPackage{ImportPath: ours("api"), Imports: []string{testify + "/require"}}, "api imports " + testify},
		"guarded by name":     {goPackage{ImportPath: ours("api"), Imports: []string{"log"}}, "api imports log,"},
		"guarded below":       {goPackage{ImportPath: ours("api"), Imports: []string{"testing/synctest"}}, "api imports testing/synctest,"},
		"guard spares slog":   {goPackage{ImportPath: ours("api"), Imports: []string{"log/slog"}}, ""},
		"internal test files": {goPackage{ImportPath: ours("api"), TestImports: []string{"example.org/x"}}, "a test of api imports"},
	} {
		got := strings.Join(checkImports(table, tc.pkg), "\n")
		if tc.want == "" {
			require.Empty(t, got, name)
		} else {
			require.Contains(t, got, tc.want, name)
		}
	}
}

// TestDependenciesProduction looks below the direct imports: no package that a
// program of a user's can import may bring a test dependency with it.
func TestDependenciesProduction(t *testing.T) {
	t.Parallel()
	for _, dir := range moduleDirs(t) {
		if !published(dir) {
			continue
		}
		for _, pkg := range listPackages(t, dir, "-deps") {
			if slices.Contains(testOnly(), pkg.Module.Path) {
				t.Errorf("module %s: production code depends on %s, which is for tests only: "+
					"a program that imports Semel must not build or trust it", dir, pkg.ImportPath)
			}
		}
	}
}

// TestDependenciesModules holds the go.mod files and go.work to the rules of a
// repository of several modules.
func TestDependenciesModules(t *testing.T) {
	t.Parallel()
	var work struct {
		Use []struct{ DiskPath string }
	}
	goJSON(t, ".", &work, "work", "edit", "-json")
	inWorkspace := map[string]bool{}
	for _, use := range work.Use {
		inWorkspace[path.Clean(filepath.ToSlash(use.DiskPath))] = true
	}

	dirs := moduleDirs(t)
	require.Equal(t, ".", dirs[0])
	for _, dir := range dirs {
		mod := readModule(t, dir)
		if want := path.Join(modulePath, dir); mod.Module.Path != want {
			t.Errorf("%s/go.mod: the module is called %s, not %s: "+
				"its path must be where it lies, or nobody can fetch it", dir, mod.Module.Path, want)
		}
		if !inWorkspace[dir] {
			t.Errorf("go.work does not use ./%s: what is not in the workspace is not built together "+
				"with the rest, and ./... silently leaves it out", dir)
		}
		delete(inWorkspace, dir)
		if dir == "." {
			checkRootModule(t, mod)
			continue
		}
		checkReplaces(t, dir, mod)
	}
	for dir := range inWorkspace {
		t.Errorf("go.work uses ./%s, which is no module, or one that must stay outside: "+
			"the tools' requirements would move everybody's versions", dir)
	}
}

// checkRootModule holds what the root requires to the list of what it may.
func checkRootModule(t *testing.T, mod goMod) {
	t.Helper()
	for _, req := range mod.Require {
		if !req.Indirect && !slices.Contains(rootRequires(), req.Path) {
			t.Errorf("go.mod requires %s: whoever wants a lock resolves every module that the root requires, "+
				"so heavier or optional integrations are nested modules", req.Path)
		}
	}
	if len(mod.Replace) > 0 {
		t.Errorf("go.mod replaces %s: a replace does not reach those who import the module, "+
			"so they would build something that was never tested", mod.Replace[0].Old.Path)
	}
}

// checkReplaces sees to it that a nested module is built with the tree that it
// lies in.
func checkReplaces(t *testing.T, dir string, mod goMod) {
	t.Helper()
	replaced := map[string]string{}
	for _, r := range mod.Replace {
		replaced[r.Old.Path] = path.Join(dir, filepath.ToSlash(r.New.Path))
	}
	for _, req := range mod.Require {
		rel, ours := relative(req.Path)
		if !ours {
			continue
		}
		if got, ok := replaced[req.Path]; !ok || got != rel {
			t.Errorf("%s/go.mod must replace %s by its directory in this tree: without that it builds "+
				"in the workspace only, or against what was released last", dir, req.Path)
		}
	}
	if _, ok := replaced[modulePath]; !ok {
		t.Errorf("%s/go.mod has no replace for %s: without one it builds in the workspace only", dir, modulePath)
	}
}

// checkImports returns what pkg imports and may not.
func checkImports(table []rule, pkg goPackage) []string {
	self, ours := relative(pkg.ImportPath)
	if !ours {
		return []string{pkg.ImportPath + " is in this tree and not of this module"}
	}
	i := slices.IndexFunc(table, func(r rule) bool { return matches(r.pkg, self) })
	if i < 0 {
		return []string{self + " is not in the table of deps_table_test.go: " +
			"a package states what it may import, and why, before it imports anything"}
	}
	r := table[i]

	var problems []string
	check := func(who string, imports, allowed []string) {
		for _, imp := range imports {
			name := imp
			if rel, ours := relative(imp); ours {
				name = rel
			}
			if !slices.ContainsFunc(allowed, func(a string) bool { return matches(a, name) }) && !freely(imp) {
				problems = append(problems, fmt.Sprintf("%s imports %s, which deps_table_test.go does not allow: %s", who, name, r.why))
			}
		}
	}
	allowed := append([]string{r.pkg}, r.imports...)
	check(self, pkg.Imports, allowed)
	// Tests are free to use all of the standard library.
	allowed = slices.Concat(allowed, r.tests, guarded())
	check("a test of "+self, slices.Concat(pkg.TestImports, pkg.XTestImports), allowed)
	return problems
}

// matches reports whether name is meant by pattern: a package of this
// repository, relative to the root and exactly (with /... also those below it),
// or the path of anything else and what lies below it.
func matches(pattern, name string) bool {
	if tree, ok := strings.CutSuffix(pattern, "/..."); ok {
		return name == tree || strings.HasPrefix(name, tree+"/")
	}
	foreign := strings.Contains(pattern, ".") && pattern != "." || slices.Contains(guarded(), pattern)
	return name == pattern || foreign && strings.HasPrefix(name, pattern+"/")
}

// freely reports whether any package may import imp: the standard library,
// but for its guarded packages.
func freely(imp string) bool {
	first, _, _ := strings.Cut(imp, "/")
	if strings.Contains(first, ".") {
		return false
	}
	return imp == "log/slog" || !slices.ContainsFunc(guarded(), func(g string) bool { return matches(g, imp) })
}

// relative returns the path of a package or module of this repository relative
// to its root, and whether it is one.
func relative(importPath string) (string, bool) {
	if importPath == modulePath {
		return ".", true
	}
	return strings.CutPrefix(importPath, modulePath+"/")
}
