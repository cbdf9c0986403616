package integration_test

import (
	"bytes"
	"context"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/sqltest"
)

// openSQL opens a database for the time of the test.
func openSQL(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// What package sqltest promises of its DSNs, with the drivers that it does not
// know.
func TestSQLTest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		driver  string
		server  func(testing.TB) *sqltest.Server
		setting string // of the session
		ask     string
		want    string
	}{
		{driverPgx, sqltest.Postgres, "default_transaction_isolation=repeatable read", "SHOW transaction_isolation", "repeatable read"},
		{driverPq, sqltest.Postgres, "default_transaction_isolation=repeatable read", "SHOW transaction_isolation", "repeatable read"},
		{driverMySQL, sqltest.MariaDB, "tx_isolation='SERIALIZABLE'", "SELECT @@tx_isolation", "SERIALIZABLE"},
	} {
		t.Run(c.driver, func(t *testing.T) {
			t.Parallel()
			server := c.server(t)
			name := server.Database(t)
			proxy := sqltest.NewProxy(t, server.Addr())
			db := openSQL(t, c.driver, server.DSNAt(proxy.Addr(), name, c.setting))
			var got string
			require.NoError(t, db.QueryRowContext(t.Context(), c.ask).Scan(&got))
			require.Equal(t, c.want, got)

			_, err := db.ExecContext(t.Context(), "CREATE TABLE t (n INT)")
			require.NoError(t, err)
			proxy.OnRequest(func(piece []byte) sqltest.Fate {
				if bytes.Contains(bytes.ToLower(piece), []byte("commit")) {
					return sqltest.DropReply
				}
				return sqltest.Pass
			})
			tx, err := db.BeginTx(context.WithoutCancel(t.Context()), nil)
			require.NoError(t, err)
			_, err = tx.ExecContext(t.Context(), "INSERT INTO t VALUES (1)")
			require.NoError(t, err)
			require.Error(t, tx.Commit(), "the reply was lost")
			var n int
			require.NoError(t, db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM t").Scan(&n))
			require.Equal(t, 1, n, "the server has committed")
		})
	}
}
