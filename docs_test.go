package semel_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDocsCompile compiles every block of Go in every Markdown file of the tree,
// against the code beside it.
func TestDocsCompile(t *testing.T) {
	t.Parallel()
	var all []snippet
	for _, file := range walkTree(t, ".md") {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		found, err := extractSnippets(file, string(text))
		require.NoError(t, err)
		all = append(all, found...)
	}
	for _, problem := range checkSnippets(all, exports(t)) {
		t.Error(problem)
	}
}

// TestDocsCheck shows what passes, what fails, and that a failure names the line
// in the Markdown.
func TestDocsCheck(t *testing.T) {
	t.Parallel()
	const template = "<!-- snippet\npackage p\nimport \"time\"\nfunc use(d time.Duration) error {\n//snippet\nreturn nil\n}\n-->\n"
	compiled := exports(t)([]string{"testing", "time", modulePath + "/observe"})
	known := func([]string) map[string]string { return compiled }
	for name, tc := range map[string]struct {
		text string
		want string // part of the one problem; "" for none
	}{
		"no block":               {"# Title\n\nSome `go` text.\n", ""},
		"other language":         {"```text\nfunc {\n```\n~~~\nfunc {\n~~~\n", ""},
		"file":                   {"```go\npackage main\n\nfunc main() {}\n```\n", ""},
		"file with test":         {"```go\npackage p_test\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) { t.Log() }\n```\n", ""},
		"file of ours":           {"```go\npackage p\nimport \"github.com/semel-go/semel/observe\"\nvar _ observe.Event\n```\n", ""},
		"unused name in file":    {"a\n\n```go\npackage main\n\nfunc main() {\n\tx := 1\n}\n```\n", "a.md:7: declared and not used: x"},
		"unused import in file":  {"```go\npackage p\nimport \"time\"\n```\n", "imported and not used"},
		"unknown name":           {"```go\npackage p\nimport \"github.com/semel-go/semel/observe\"\nvar _ observe.Evnt\n```\n", "a.md:4: undefined: observe.Evnt"},
		"unknown package":        {"```go\npackage p\nimport _ \"github.com/semel-go/semel/observ\"\n```\n", "could not import github.com/semel-go/semel/observ"},
		"internal package":       {"```go\npackage p\nimport _ \"github.com/semel-go/semel/internal/keeper\"\n```\n", "which a reader cannot"},
		"syntax":                 {"x\n```go\npackage p\nfunc {\n```\n", "a.md:4: expected 'IDENT'"},
		"declarations alone":     {"```go\nimport \"time\"\n\nvar d time.Duration\n```\n", ""},
		"statements alone":       {"```go\nd := 1\n```\n", "a.md:2: expected declaration"},
		"statements in template": {template + "```go\nd *= 2\n```\n", ""},
		"names unused there":     {template + "```go\nx, err := 1, error(nil)\n```\n", ""},
		"imports unused there":   {"<!-- snippet\npackage p\nimport \"time\"\n//snippet\n-->\n```go\nvar x int\n```\n", ""},
		"error in fragment":      {template + "\n```go\nd = \"1s\"\n```\n", "a.md:11: cannot use \"1s\""},
		"error in template":      {"<!-- snippet\npackage p\nvar x nope\n//snippet\n-->\n```go\n```\n", "a.md:3: undefined: nope"},
		"template goes on":       {template + "```go\nd++\n```\n\n```go\nd--\n```\n", ""},
		"name declared anew":     {template + "```go\nd, err := time.ParseDuration(\"1s\")\n```\n", ""},
		"error after the slot":   {"<!-- snippet\npackage p\nfunc f() {\n//snippet\nnope()\n}\n-->\n```go\na := 1\n\n\nb := 2\n```\n", "a.md:5: undefined: nope"},
		"template is replaced":   {template + "<!-- snippet\npackage p\n//snippet\n-->\n```go\nd--\n```\n", "expected declaration"},
		"range over no range":    {template + "```go\nfor range d == 1 {\n}\n```\n", "cannot range over"},
		"in a list":              {"- item\n\n  ```go\n  package p\n\n  var x nope\n  ```\n", "a.md:6: undefined: nope"},
		"longer fence":           {"````go\npackage p\n\n/*\n```\n*/\n````\n", ""},
		"words after the word":   {"```go title=\"x\"\npackage p\nvar x nope\n```\n", "undefined: nope"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, err := extractSnippets("a.md", tc.text)
			require.NoError(t, err)
			got := errors.Join(checkSnippets(found, known)...)
			if tc.want == "" {
				require.NoError(t, got)
			} else {
				require.ErrorContains(t, got, tc.want)
			}
		})
	}
}

// TestDocsMalformed shows that a block or a template that nobody would see is
// not passed over.
func TestDocsMalformed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, want string }{
		"open block":    {"\n```go\npackage p\n", "a.md:2: the block does not end"},
		"open template": {"<!-- snippet\npackage p\n", "a.md:1: the template does not end"},
		"no slot":       {"<!-- snippet\npackage p\n-->\n", "a.md:1: the template has no line //snippet"},
		"slot too late": {"<!-- snippet\npackage p\n-->\n//snippet\n", "a.md:1: the template has no line //snippet"},
	} {
		_, err := extractSnippets("a.md", tc.text)
		require.ErrorContains(t, err, tc.want, name)
	}
}

// exports returns a function that compiles packages, in the workspace's view,
// and tells where the go command keeps what importers need of them.
func exports(t *testing.T) func([]string) map[string]string {
	t.Helper()
	return func(paths []string) map[string]string {
		files := map[string]string{}
		if len(paths) == 0 {
			return files
		}
		args := append([]string{"list", "-e", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}"}, paths...)
		for line := range strings.Lines(string(runGo(t, ".", []string{"GOWORK="}, args...))) {
			p, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
			files[p] = file
		}
		return files
	}
}
