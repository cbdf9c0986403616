package dialect

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"hash/fnv"
	"time"
)

// lockWait is how long a migration waits for another process's on MySQL, whose
// locks must be told.
const lockWait = 5 * time.Minute

// Migrate brings the database to s's last version. It does nothing, and needs
// no right to create tables, if it is there already. Any number of processes may
// do so at the same time.
//
// Error: [ErrSchemaNewer] if the database is beyond s.
func (d Dialect) Migrate(ctx context.Context, db *sql.DB, s Schema) error {
	meta, err := d.check(s)
	if err != nil {
		return err
	}
	m := &migration{dialect: d, schema: s, meta: meta}
	if err := d.Retry(ctx, func() error { return m.migrate(ctx, db) }); err != nil {
		return fmt.Errorf("dialect: migrate %s: %w", s.Part, err)
	}
	return nil
}

// migration is one call of Migrate.
type migration struct {
	dialect Dialect
	schema  Schema
	meta    string
}

// migrate looks whether there is something to do, and does it.
func (m *migration) migrate(ctx context.Context, db *sql.DB) error {
	if done, err := m.done(ctx, db); done || err != nil {
		return err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	return m.run(ctx, conn)
}

// querier is a *sql.DB or a *sql.Conn.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// version returns which version the database has, 0 for none.
func (m *migration) version(ctx context.Context, q querier) (v int, err error) {
	query := m.dialect.Rebind("SELECT version FROM " + m.meta + " WHERE part = ?")
	err = q.QueryRowContext(ctx, query, m.part()).Scan(&v)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return v, err
}

// part is the part's name as an argument: on MySQL the column is binary.
func (m *migration) part() any {
	if m.dialect == MySQL {
		return []byte(m.schema.Part)
	}
	return m.schema.Part
}

// done reports whether there is nothing to do, without changing anything.
func (m *migration) done(ctx context.Context, db *sql.DB) (bool, error) {
	if m.dialect == SQLite { // whose error would not tell
		if has, err := m.dialect.HasTable(ctx, db, m.schema.Meta); !has || err != nil {
			return false, err
		}
	}
	v, err := m.version(ctx, db)
	switch {
	case err == nil && v > len(m.schema.Steps):
		return false, m.newer(v)
	case err == nil:
		return v == len(m.schema.Steps), nil
	case m.dialect.Class(err) == UndefinedTable:
		return false, nil
	}
	return false, err
}

func (m *migration) newer(v int) error {
	return fmt.Errorf("%w: %s has version %d, and %d is the last that is known", ErrSchemaNewer, m.schema.Part, v, len(m.schema.Steps))
}

// run applies what is missing, while it keeps other processes out.
func (m *migration) run(ctx context.Context, conn *sql.Conn) (err error) {
	// At a higher isolation the snapshot would be that of before the wait.
	begin, lock := "BEGIN ISOLATION LEVEL READ COMMITTED", ""
	switch m.dialect {
	case Postgres:
		lock = fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", m.number())
	case SQLite:
		begin = "BEGIN IMMEDIATE"
	default:
		return m.runMySQL(ctx, conn)
	}
	if _, err := conn.ExecContext(ctx, begin); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			m.undo(ctx, conn, "ROLLBACK")
		}
	}()
	if lock != "" {
		if _, err := conn.ExecContext(ctx, lock); err != nil {
			return err
		}
	}
	if err := m.apply(ctx, conn); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, "COMMIT")
	return err
}

// runMySQL is run where a transaction does not hold a change of tables.
func (m *migration) runMySQL(ctx context.Context, conn *sql.Conn) (err error) {
	name := fmt.Sprintf("semel-migrate-%d", m.number())
	var got sql.NullInt64
	if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK(?, ?)", name, int(lockWait.Seconds())).Scan(&got); err != nil {
		return err
	}
	if got.Int64 != 1 {
		return fmt.Errorf("another migration was still under way after %v", lockWait)
	}
	defer m.undo(ctx, conn, fmt.Sprintf("DO RELEASE_LOCK('%s')", name))
	return m.apply(ctx, conn)
}

// undo runs a statement that ends what run began, also if ctx has ended. If it
// fails, the connection is not used again: nobody else must inherit its
// transaction or its lock.
func (m *migration) undo(ctx context.Context, conn *sql.Conn, statement string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if _, err := conn.ExecContext(ctx, statement); err != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
}

// apply runs the steps that the database does not have. It is alone.
func (m *migration) apply(ctx context.Context, conn *sql.Conn) error {
	if _, err := conn.ExecContext(ctx, m.dialect.metaTable(m.meta)); err != nil {
		return err
	}
	v, err := m.version(ctx, conn)
	if err != nil {
		return err
	}
	if v > len(m.schema.Steps) {
		return m.newer(v)
	}
	for i, step := range m.schema.Steps[v:] {
		for _, statement := range step {
			if _, err := conn.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("version %d: %w", v+i+1, err)
			}
		}
	}
	if v == len(m.schema.Steps) {
		return nil
	}
	set := "INSERT INTO " + m.meta + " (version, part) VALUES (?, ?)"
	if v > 0 {
		set = "UPDATE " + m.meta + " SET version = ? WHERE part = ?"
	}
	_, err = conn.ExecContext(ctx, m.dialect.Rebind(set), len(m.schema.Steps), m.part())
	return err
}

// number is the lock's name, as a number: all migrations of one table of
// versions exclude each other, for they may create it.
func (m *migration) number() int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte("semel migrate " + m.schema.Meta))
	return int64(h.Sum64())
}

// HasTable reports whether the database has the table of that name, as given to
// [Dialect.Quote]. It is for SQLite, whose errors do not tell.
func (d Dialect) HasTable(ctx context.Context, db *sql.DB, name string) (bool, error) {
	if d != SQLite {
		return false, errors.New("dialect: HasTable is for SQLite")
	}
	master := "sqlite_master"
	schema, table := splitName(name)
	if schema != "" {
		quoted, err := d.Quote(schema)
		if err != nil {
			return false, err
		}
		master = quoted + "." + master
	}
	var n int
	err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+master+" WHERE type = 'table' AND lower(name) = lower(?)", table).Scan(&n)
	return n > 0, err
}
