package dialect_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/dialect"
)

// The errors of the drivers, as far as they matter.
type (
	pgError     struct{ code string }
	MySQLError  struct{ Number uint16 }
	modernError struct{ code int }
	wasmCode    uint8
	wasmError   struct{ code int }
	cgoErrNo    int
	cgoError    struct {
		Code         cgoErrNo
		ExtendedCode cgoErrNo
	}
	oddError struct{}
)

func (e *pgError) Error() string       { return "FEHLER" }
func (e *pgError) SQLState() string    { return e.code }
func (e *MySQLError) Error() string    { return "Fehler" }
func (e *modernError) Error() string   { return "x" }
func (e *modernError) Code() int       { return e.code }
func (e *wasmError) Error() string     { return "x" }
func (e *wasmError) Code() wasmCode    { return wasmCode(e.code) }
func (e *wasmError) ExtendedCode() int { return e.code }
func (e cgoError) Error() string       { return "x" }
func (oddError) Error() string         { return "40001 1213 deadlock duplicate key" }
func (oddError) Code(int) string       { return "" }

func TestClass(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		d    dialect.Dialect
		err  error
		want dialect.Class
	}{
		{dialect.Postgres, nil, dialect.Other},
		{dialect.Postgres, &pgError{"40001"}, dialect.Serialization},
		{dialect.Postgres, &pgError{"40P01"}, dialect.Serialization},
		{dialect.Postgres, &pgError{"23505"}, dialect.Duplicate},
		{dialect.Postgres, &pgError{"55P03"}, dialect.LockNotAvailable},
		{dialect.Postgres, &pgError{"25006"}, dialect.ReadOnly},
		{dialect.Postgres, &pgError{"42P01"}, dialect.UndefinedTable},
		{dialect.Postgres, &pgError{"25P02"}, dialect.Aborted},
		{dialect.Postgres, &pgError{"08006"}, dialect.Unavailable},
		{dialect.Postgres, &pgError{"53300"}, dialect.Unavailable},
		{dialect.Postgres, &pgError{""}, dialect.Other},
		{dialect.MySQL, &MySQLError{1213}, dialect.Serialization},
		{dialect.MySQL, &MySQLError{1020}, dialect.Serialization},
		{dialect.MySQL, &MySQLError{1062}, dialect.Duplicate},
		{dialect.MySQL, &MySQLError{1205}, dialect.LockNotAvailable},
		{dialect.MySQL, &MySQLError{3572}, dialect.LockNotAvailable},
		{dialect.MySQL, &MySQLError{1290}, dialect.ReadOnly},
		{dialect.MySQL, &MySQLError{1146}, dialect.UndefinedTable},
		{dialect.MySQL, &MySQLError{1040}, dialect.Unavailable},
		{dialect.MySQL, &MySQLError{9}, dialect.Other},
		{dialect.MySQL, (*MySQLError)(nil), dialect.Other},
		{dialect.MySQL, driver.ErrBadConn, dialect.Unavailable},
		{dialect.SQLite, &modernError{5}, dialect.LockNotAvailable},
		{dialect.SQLite, &modernError{6}, dialect.LockNotAvailable},
		{dialect.SQLite, &modernError{261}, dialect.LockNotAvailable},
		{dialect.SQLite, &modernError{517}, dialect.Serialization},
		{dialect.SQLite, &modernError{1555}, dialect.Duplicate},
		{dialect.SQLite, &modernError{8}, dialect.ReadOnly},
		{dialect.SQLite, &modernError{1}, dialect.Other},
		{dialect.SQLite, &wasmError{2067}, dialect.Duplicate},
		{dialect.SQLite, cgoError{5, 517}, dialect.Serialization},
		{dialect.SQLite, cgoError{5, 0}, dialect.LockNotAvailable},
		// Never by text, and never by another database's code.
		{dialect.Postgres, oddError{}, dialect.Other},
		{dialect.MySQL, oddError{}, dialect.Other},
		{dialect.SQLite, oddError{}, dialect.Other},
		{dialect.Postgres, &MySQLError{1213}, dialect.Other},
		{dialect.Dialect(0), &pgError{"40001"}, dialect.Other},
	} {
		require.Equal(t, c.want, c.d.Class(c.err), "%v %#v", c.d, c.err)
		if c.err != nil {
			require.Equal(t, c.want, c.d.Class(fmt.Errorf("wrapped: %w", c.err)))
			require.Equal(t, c.want, c.d.Class(errors.Join(errors.New("first"), c.err)))
		}
	}
}

func TestRetry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		err := dialect.Postgres.Retry(t.Context(), func() error {
			if n++; n < 4 {
				return &pgError{"40001"}
			}
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, 4, n)

		n = 0
		stubborn := func() error { n++; return &pgError{"40P01"} }
		err = dialect.Postgres.Retry(t.Context(), stubborn)
		require.Equal(t, dialect.Serialization, dialect.Postgres.Class(err))
		require.Greater(t, n, 5)
		require.Less(t, n, 50, "bounded")

		ctx, cancel := context.WithTimeout(t.Context(), time.Microsecond)
		defer cancel()
		<-ctx.Done()
		n = 0
		require.Error(t, dialect.Postgres.Retry(ctx, stubborn))
		require.Equal(t, 1, n)

		for _, once := range []struct {
			d   dialect.Dialect
			err error
		}{
			{dialect.Postgres, &pgError{"23505"}}, {dialect.Postgres, &pgError{"55P03"}},
			{dialect.MySQL, &MySQLError{1205}}, {dialect.Postgres, driver.ErrBadConn},
		} {
			n = 0
			require.Error(t, once.d.Retry(t.Context(), func() error { n++; return once.err }))
			require.Equal(t, 1, n, "%v", once)
		}
		n = 0
		require.Error(t, dialect.SQLite.Retry(t.Context(), func() error { n++; return &modernError{5} }))
		require.Greater(t, n, 5)
	})
}
