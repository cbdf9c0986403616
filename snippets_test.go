package semel_test

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// snippet is one block of Go in a Markdown file, and the Go file that it is
// checked as. docs/development.md tells authors the convention.
type snippet struct {
	// at is where the block begins, as file:line.
	at string
	// source is a whole Go file. Its line directives lead back to the
	// Markdown.
	source string
	// fragment says that the file was made from a template: names that it
	// leaves unused are no error then.
	fragment bool
}

var (
	fenceLine   = regexp.MustCompile("^\\s*(`{3,}|~{3,})\\s*([^\\s`]*)")
	packageLine = regexp.MustCompile(`(?m)^\s*package \w+`)
	unusedName  = regexp.MustCompile(`(declared|imported( as \S+)?) and not used`)
)

const (
	templateOpen  = "<!-- snippet"
	templateClose = "-->"
	templateSlot  = "//snippet"
)

// snippetTemplate is the Go file around a fragment.
type snippetTemplate struct{ before, after string }

// fill returns the file with code in its place. Among statements it is a block
// of its own, so that it may declare anew the names of the parameters that it
// uses, as text under text does.
func (t snippetTemplate) fill(code string) string {
	block := t.before + "{\n" + code + "}\n" + t.after
	if _, err := parser.ParseFile(token.NewFileSet(), "", block, parser.SkipObjectResolution); err == nil {
		return block
	}
	return t.before + code + t.after
}

// extractSnippets returns the Go blocks of a Markdown text.
func extractSnippets(file, text string) ([]snippet, error) {
	var found []snippet
	template := snippetTemplate{before: "package snippet\n"}
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		start := i
		if strings.TrimSpace(lines[i]) == templateOpen {
			end := indexLine(lines, i+1, func(l string) bool { return l == templateClose })
			if end < 0 {
				return nil, fmt.Errorf("%s:%d: the template does not end", file, start+1)
			}
			slot := indexLine(lines, i+1, func(l string) bool { return l == templateSlot })
			if slot < 0 || slot > end {
				return nil, fmt.Errorf("%s:%d: the template has no line %s", file, start+1, templateSlot)
			}
			template.before = directive(file, i+2) + strings.Join(lines[i+1:slot], "\n") + "\n"
			template.after = directive(file, slot+2) + strings.Join(lines[slot+1:end], "\n") + "\n"
			i = end
			continue
		}
		fence := fenceLine.FindStringSubmatch(lines[i])
		if fence == nil {
			continue
		}
		end := indexLine(lines, i+1, func(l string) bool { return len(l) >= len(fence[1]) && strings.Trim(l, fence[1][:1]) == "" })
		if end < 0 {
			return nil, fmt.Errorf("%s:%d: the block does not end", file, start+1)
		}
		i = end
		if lang := strings.ToLower(fence[2]); lang != "go" && lang != "golang" {
			continue
		}
		code := directive(file, start+2) + strings.Join(lines[start+1:end], "\n") + "\n"
		s := snippet{at: fmt.Sprintf("%s:%d", file, start+1), source: code}
		if !packageLine.MatchString(code) {
			s.fragment = true
			s.source = template.fill(code)
		}
		found = append(found, s)
	}
	return found, nil
}

// indexLine returns the index of the first line from start on that is as asked
// for when stripped of white space, or -1.
func indexLine(lines []string, start int, is func(string) bool) int {
	for i := start; i < len(lines); i++ {
		if is(strings.TrimSpace(lines[i])) {
			return i
		}
	}
	return -1
}

// directive makes the Go parser count on from a line of file.
func directive(file string, line int) string { return fmt.Sprintf("//line %s:%d\n", file, line) }

// checkSnippets compiles every snippet as a package of its own, as far as types
// go, and returns what is wrong with them. exports finds the compiled form of
// the packages that they import, and returns the files that hold it.
func checkSnippets(snippets []snippet, exports func(paths []string) map[string]string) []error {
	var problems []error
	fset := token.NewFileSet()
	files := make([]*ast.File, len(snippets))
	imports := map[string]bool{}
	for i, s := range snippets {
		file, err := parser.ParseFile(fset, "", s.source, parser.SkipObjectResolution)
		if err != nil {
			problems = append(problems, err) // says where
			continue
		}
		files[i] = file
		for _, spec := range file.Imports {
			p, _ := strconv.Unquote(spec.Path.Value) // the parser has checked it
			if strings.Contains("/"+p+"/", "/internal/") {
				problems = append(problems, fmt.Errorf("%s: imports %s, which a reader cannot", s.at, p))
			}
			imports[p] = true
		}
	}

	paths := make([]string, 0, len(imports))
	for p := range imports {
		paths = append(paths, p)
	}
	compiled := exports(paths)
	imp := importer.ForCompiler(fset, "gc", func(p string) (io.ReadCloser, error) {
		if compiled[p] == "" {
			return nil, errors.New("no such package, or it does not compile")
		}
		return os.Open(compiled[p])
	})
	for i, file := range files {
		if file == nil {
			continue
		}
		conf := types.Config{Importer: imp, Error: func(err error) {
			var typeErr types.Error
			if errors.As(err, &typeErr) && typeErr.Soft && snippets[i].fragment && unusedName.MatchString(typeErr.Msg) {
				return
			}
			problems = append(problems, err) // says where
		}}
		_, _ = conf.Check(cmp.Or(file.Name.Name, "snippet"), fset, []*ast.File{file}, nil) // conf.Error has told
	}
	return problems
}
