package dialect

import (
	"errors"
	"fmt"
	"strings"
)

// ErrSchemaNewer: the database's schema is of a later version than this
// program knows.
var ErrSchemaNewer = errors.New("dialect: the schema is newer than this program")

// Schema is the tables of one part of Semel, as the steps that lead to them.
type Schema struct {
	// Part names whose tables they are, among all that share Meta: at most 190
	// bytes.
	Part string
	// Meta is the name of the table of versions, as given to [Dialect.Quote].
	Meta string
	// Steps are the statements of each version, the first being version 1.
	// They are never changed, only added to. Each is safe to repeat.
	Steps [][]string
}

// maxPart is how long a part's name may be: what an index of MySQL can hold.
const maxPart = 190

// check refuses a Schema that cannot be kept.
func (d Dialect) check(s Schema) (meta string, err error) {
	if !d.Valid() {
		return "", fmt.Errorf("dialect: %d is not a dialect", d)
	}
	if s.Part == "" || len(s.Part) > maxPart {
		return "", fmt.Errorf("dialect: a part's name has %d bytes, want 1 to %d", len(s.Part), maxPart)
	}
	return d.Quote(s.Meta)
}

// metaTable returns the statement that makes the table of versions.
func (d Dialect) metaTable(meta string) string {
	part, options := "text", ""
	if d == MySQL {
		part, options = "varbinary(190)", " ENGINE=InnoDB"
	}
	return "CREATE TABLE IF NOT EXISTS " + meta + " (\n" +
		"    part " + part + " NOT NULL PRIMARY KEY,\n" +
		"    version integer NOT NULL\n)" + options
}

// Script returns s as SQL text, from an empty database to its last version:
// for those who apply it by other means than [Dialect.Migrate], which finds it
// applied.
func (d Dialect) Script(s Schema) (string, error) {
	meta, err := d.check(s)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	statement := func(text string) { b.WriteString(text + ";\n\n") }
	statement(d.metaTable(meta))
	for _, step := range s.Steps {
		for _, text := range step {
			statement(text)
		}
	}
	part := "'" + strings.ReplaceAll(s.Part, "'", "''") + "'"
	if d == MySQL { // whose text may know backslashes
		part = fmt.Sprintf("0x%x", s.Part)
	}
	fmt.Fprintf(&b, "DELETE FROM %s WHERE part = %s;\n\nINSERT INTO %s (part, version) VALUES (%s, %d);\n", meta, part, meta, part, len(s.Steps))
	return b.String(), nil
}
