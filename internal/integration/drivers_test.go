package integration_test

import (
	"database/sql"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/lib/pq"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"
)

// Names under which the SQL drivers register themselves.
const (
	driverPgx    = "pgx"
	driverPq     = "postgres"
	driverMySQL  = "mysql"
	driverSQLite = "sqlite"
)

func TestDrivers(t *testing.T) {
	t.Parallel()
	require.Subset(t, sql.Drivers(), []string{driverPgx, driverPq, driverMySQL, driverSQLite})
}
