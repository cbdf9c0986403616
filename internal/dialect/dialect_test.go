package dialect_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/dialect"
)

func TestNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]dialect.Dialect{
		"postgres": dialect.Postgres, "PostgreSQL": dialect.Postgres, "pgx": dialect.Postgres,
		"mysql": dialect.MySQL, "MariaDB": dialect.MySQL, "sqlite": dialect.SQLite, "sqlite3": dialect.SQLite,
	} {
		got, err := dialect.Parse(name)
		require.NoError(t, err)
		require.Equal(t, want, got)
		again, err := dialect.Parse(got.String())
		require.NoError(t, err)
		require.Equal(t, got, again)
	}
	for _, name := range []string{"", "oracle", "none"} {
		_, err := dialect.Parse(name)
		require.Error(t, err, name)
	}
	require.False(t, dialect.Dialect(0).Valid())
	require.False(t, dialect.Dialect(4).Valid())
}

func TestQuote(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		d          dialect.Dialect
		name, want string
	}{
		{dialect.Postgres, "runs", `"runs"`},
		{dialect.Postgres, "App.Runs", `"App"."Runs"`},
		{dialect.Postgres, `a"; DROP TABLE x; --`, `"a""; DROP TABLE x; --"`},
		{dialect.SQLite, `"`, `""""`},
		{dialect.SQLite, "a`b ?", "\"a`b ?\""},
		{dialect.MySQL, "a`b", "`a``b`"},
		{dialect.MySQL, "app.runs", "`app`.`runs`"},
		{dialect.MySQL, `a"b\`, "`a\"b\\`"},
		{dialect.Postgres, strings.Repeat("x", 63), `"` + strings.Repeat("x", 63) + `"`},
	} {
		got, err := c.d.Quote(c.name)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
	for _, c := range []struct {
		d    dialect.Dialect
		name string
	}{
		{dialect.Postgres, ""}, {dialect.Postgres, "."}, {dialect.Postgres, "a."}, {dialect.Postgres, ".a"},
		{dialect.Postgres, "a.b.c"}, {dialect.Postgres, "a\x00b"}, {dialect.Postgres, "a\xffb"},
		{dialect.Postgres, strings.Repeat("x", 64)}, {dialect.MySQL, "a "}, {dialect.MySQL, "a\U0001f600"},
		{dialect.SQLite, "SQLite_master"},
	} {
		_, err := c.d.Quote(c.name)
		require.Error(t, err, "%v %q", c.d, c.name)
	}
}

func TestQuoteIndex(t *testing.T) {
	t.Parallel()
	got, err := dialect.Postgres.QuoteIndex("app.runs", "_until")
	require.NoError(t, err)
	require.Equal(t, `"runs_until"`, got)
	// Cut off by the server it could be another's.
	_, err = dialect.Postgres.QuoteIndex(strings.Repeat("x", 58), "_until")
	require.Error(t, err)
}

func TestBeside(t *testing.T) {
	t.Parallel()
	require.Equal(t, "app.meta", dialect.Beside("app.runs", "meta"))
	require.Equal(t, "meta", dialect.Beside("runs", "meta"))
}

func TestRebind(t *testing.T) {
	t.Parallel()
	const query = "SELECT '?', \"?\"\"?\", '''?' -- ?\n, ? /* ? */ , ?"
	require.Equal(t, "SELECT '?', \"?\"\"?\", '''?' -- ?\n, $1 /* ? */ , $2", dialect.Postgres.Rebind(query))
	require.Equal(t, query, dialect.MySQL.Rebind(query))
	require.Equal(t, query, dialect.SQLite.Rebind(query))
	for _, open := range []string{"'?", "\"?", "/* ?", "-- ?", "/*/ ?"} {
		require.Equal(t, "$1 "+open, dialect.Postgres.Rebind("? "+open), "text that does not end")
	}
	require.Equal(t, "$1$2$3$4$5$6$7$8$9$10", dialect.Postgres.Rebind("??????????"))
}

func TestScript(t *testing.T) {
	t.Parallel()
	s := dialect.Schema{Part: "it's", Meta: "app.meta", Steps: [][]string{{"ONE", "TWO"}, {"THREE"}}}
	text, err := dialect.Postgres.Script(s)
	require.NoError(t, err)
	require.Contains(t, text, `CREATE TABLE IF NOT EXISTS "app"."meta"`)
	require.Contains(t, text, "ONE;\n\nTWO;\n\nTHREE;")
	require.Contains(t, text, `VALUES ('it''s', 2);`)
	text, err = dialect.MySQL.Script(s)
	require.NoError(t, err)
	require.Contains(t, text, "VALUES (0x69742773, 2);")
	s.Meta = ""
	_, err = dialect.SQLite.Script(s)
	require.Error(t, err)
	_, err = dialect.Dialect(0).Script(s)
	require.Error(t, err)
}
