package dialect

import (
	"strconv"
	"strings"
)

// Rebind returns query with its placeholders, written as question marks, in
// the dialect's form: on Postgres the first is $1, the second $2. A question
// mark inside quotes or a comment is none. It is for statements of our own: it
// does not know Postgres's E'...' and $tag$ strings.
func (d Dialect) Rebind(query string) string {
	if d != Postgres {
		return query
	}
	var b strings.Builder
	b.Grow(len(query) + 16)
	n := 0
	for i := 0; i < len(query); {
		if end := skip(query[i:]); end > 0 {
			b.WriteString(query[i : i+end])
			i += end
			continue
		}
		if query[i] == '?' {
			n++
			b.WriteByte('$')
			b.WriteString(strconv.Itoa(n))
		} else {
			b.WriteByte(query[i])
		}
		i++
	}
	return b.String()
}

// skip returns the length of the quoted text or comment that s begins with, 0
// if it begins with neither. A quote that is doubled inside its own kind is two
// texts, one after the other, which comes to the same.
func skip(s string) int {
	var closing string
	open := 1
	switch {
	case s[0] == '\'' || s[0] == '"' || s[0] == '`':
		closing = s[:1]
	case strings.HasPrefix(s, "--"):
		closing = "\n"
	case strings.HasPrefix(s, "/*"):
		closing, open = "*/", 2
	default:
		return 0
	}
	if at := strings.Index(s[open:], closing); at >= 0 {
		return open + at + len(closing)
	}
	return len(s)
}
