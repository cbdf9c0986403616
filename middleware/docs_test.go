package middleware_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	semelhttp "github.com/semel-go/semel/middleware"
)

// TestDocsStatuses holds the table of statuses in docs/http.md against the code:
// every status is in one row, and is stored or released as that row says.
func TestDocsStatuses(t *testing.T) {
	t.Parallel()
	stored := map[int]bool{}
	var rest *bool // what the row says that has "every other 4xx"
	for _, row := range table(t, "| status | stored") {
		keep := row[1] == "yes"
		require.NotEqual(t, keep, row[2] == "yes", row[0])
		if strings.HasPrefix(row[0], "every other 4xx") {
			rest = &keep
			for _, n := range numbers.FindAllString(row[0][len("every other 4xx"):], -1) {
				status, err := strconv.Atoi(n)
				require.NoError(t, err)
				require.Equal(t, keep, semelhttp.DefaultStatuses(status, nil), status)
			}
			continue
		}
		for _, part := range strings.Split(row[0], ", ") {
			from, to, isRange := strings.Cut(part, "–")
			if !isRange {
				to = from
			}
			first, err := strconv.Atoi(from)
			require.NoError(t, err, row[0])
			last, err := strconv.Atoi(to)
			require.NoError(t, err, row[0])
			for status := first; status <= last; status++ {
				require.NotContains(t, stored, status, "in two rows")
				stored[status] = keep
			}
		}
	}
	require.NotNil(t, rest)
	for status := 200; status <= 599; status++ {
		keep, ok := stored[status]
		if !ok {
			require.True(t, status >= 400 && status <= 499, "%d is in no row", status)
			keep = *rest
		}
		require.Equal(t, keep, semelhttp.DefaultStatuses(status, nil), status)
	}
}

// TestDocsProblems holds the table of problems in docs/http.md against the code.
func TestDocsProblems(t *testing.T) {
	t.Parallel()
	told := map[semelhttp.Code]bool{}
	for _, row := range table(t, "| code | status") {
		for _, name := range names.FindAllStringSubmatch(row[0], -1) {
			code := semelhttp.Code(name[1])
			told[code] = true
			status, err := strconv.Atoi(numbers.FindString(row[1]))
			require.NoError(t, err)
			require.Equal(t, status, semelhttp.StatusOf(code), code)
		}
	}
	source, err := os.ReadFile("code.go")
	require.NoError(t, err)
	codes := constants.FindAllStringSubmatch(string(source), -1)
	for _, c := range codes {
		require.True(t, told[semelhttp.Code(c[1])], "%s is not in docs/http.md", c[1])
	}
	require.Len(t, told, len(codes))
}

var (
	numbers   = regexp.MustCompile(`\b[1-5][0-9][0-9]\b`)
	constants = regexp.MustCompile(`Code = "([a-z_]+)"`)
	names     = regexp.MustCompile("`([a-z_]+)`")
)

// table returns the cells of the table of docs/http.md whose head begins so.
func table(t *testing.T, head string) (rows [][]string) {
	t.Helper()
	text, err := os.ReadFile("../docs/http.md")
	require.NoError(t, err)
	_, after, ok := strings.Cut(string(text), head)
	require.True(t, ok, head)
	for _, line := range strings.Split(after, "\n")[2:] {
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	require.NotEmpty(t, rows)
	return rows
}
