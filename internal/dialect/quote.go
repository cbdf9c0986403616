package dialect

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxName is the longest name in bytes: Postgres cuts longer ones off without
// an error, so that two names could become one.
const maxName = 63

// Quote returns name, which is a table or schema.table, as it stands in a
// statement. Each part is taken as it is, in its case, whatever characters it
// holds; a dot separates the two.
func (d Dialect) Quote(name string) (string, error) {
	if err := d.checkName(name); err != nil {
		return "", err
	}
	mark := d.mark()
	parts := strings.Split(name, ".")
	for i, part := range parts {
		parts[i] = mark + strings.ReplaceAll(part, mark, mark+mark) + mark
	}
	return strings.Join(parts, "."), nil
}

// QuoteIndex returns the name of an index of table, quoted and without schema,
// which an index name must not have.
func (d Dialect) QuoteIndex(table, suffix string) (string, error) {
	if err := d.checkName(table); err != nil {
		return "", err
	}
	_, bare := splitName(table)
	if len(bare)+len(suffix) > maxName {
		return "", fmt.Errorf("dialect: table name %q: too long by %d bytes for its indexes", table, len(bare)+len(suffix)-maxName)
	}
	return d.Quote(bare + suffix)
}

// mark is what names are quoted with.
func (d Dialect) mark() string {
	if d == MySQL {
		return "`" // also where ANSI_QUOTES is off
	}
	return `"`
}

// checkName refuses what cannot be a table's name.
func (d Dialect) checkName(name string) error {
	parts := strings.Split(name, ".")
	if len(parts) > 2 {
		return fmt.Errorf("dialect: table name %q has %d dots, want at most one, between schema and table", name, len(parts)-1)
	}
	for _, part := range parts {
		switch {
		case part == "":
			return fmt.Errorf("dialect: table name %q has an empty part", name)
		case len(part) > maxName:
			return fmt.Errorf("dialect: table name %q has a part of %d bytes, want at most %d", name, len(part), maxName)
		case !utf8.ValidString(part) || strings.ContainsRune(part, 0):
			return fmt.Errorf("dialect: table name %q is not text", name)
		case d == MySQL && (strings.HasSuffix(part, " ") || strings.ContainsFunc(part, beyondBMP)):
			return fmt.Errorf("dialect: table name %q is not possible in MySQL", name)
		case d == SQLite && hasPrefixFold(part, "sqlite_"):
			return fmt.Errorf("dialect: table name %q is reserved by SQLite", name)
		}
	}
	return nil
}

func beyondBMP(r rune) bool { return r > 0xffff }

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// splitName returns the schema of a table's name, "" if it has none, and the
// rest.
func splitName(name string) (schema, table string) {
	if schema, table, ok := strings.Cut(name, "."); ok {
		return schema, table
	}
	return "", name
}

// Beside returns the name of another table in the schema of table.
func Beside(table, other string) string {
	if schema, _ := splitName(table); schema != "" {
		return schema + "." + other
	}
	return other
}
