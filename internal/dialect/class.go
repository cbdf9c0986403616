package dialect

import (
	"database/sql/driver"
	"errors"
)

// Class says what an error of a database means.
type Class uint8

// The classes of errors.
const (
	// Other is any error that is none of the others, and no error.
	Other Class = iota
	// Serialization: the transaction collided with another and was, or must
	// be, rolled back as a whole; run again it may succeed. Nothing of it has
	// taken effect. Statements of our own are repeated, see [Dialect.Retry].
	Serialization
	// Duplicate: a row with that primary or unique key is there.
	Duplicate
	// LockNotAvailable: another transaction has the row, or on SQLite the
	// database, and waiting for it was not wanted or took too long. The
	// statement had no effect; its transaction lives on.
	LockNotAvailable
	// ReadOnly: this server, connection or transaction does not write.
	ReadOnly
	// UndefinedTable: a table, schema or column is not there: the schema was
	// not migrated. Never on SQLite, see [Dialect.HasTable].
	UndefinedTable
	// Aborted: an earlier statement of the transaction has failed, and it does
	// nothing any more but end. Postgres only.
	Aborted
	// Unavailable: the server is not reached, is going away, or has no room.
	// It does not say whether the statement took effect.
	Unavailable
)

// Class tells the class of err.
func (d Dialect) Class(err error) Class {
	switch {
	case err == nil:
		return Other
	case errors.Is(err, driver.ErrBadConn):
		return Unavailable
	case d == Postgres:
		return postgresClass(err)
	case d == MySQL:
		return mysqlClass(err)
	case d == SQLite:
		return sqliteClass(err)
	}
	return Other
}

// postgresClass reads the SQLSTATE.
func postgresClass(err error) Class {
	var state interface{ SQLState() string }
	if !errors.As(err, &state) {
		return Other
	}
	code := state.SQLState()
	switch code {
	case "40001", "40P01": // serialization_failure, deadlock_detected
		return Serialization
	case "23505": // unique_violation
		return Duplicate
	case "55P03": // lock_not_available
		return LockNotAvailable
	case "25006": // read_only_sql_transaction
		return ReadOnly
	case "42P01", "3F000", "42703": // undefined_table, invalid_schema_name, undefined_column
		return UndefinedTable
	case "25P02": // in_failed_sql_transaction
		return Aborted
	case "57P01", "57P02", "57P03", "57P05": // shutdown, crash, starting up, idle too long
		return Unavailable
	}
	if len(code) == 5 && (code[:2] == "08" || code[:2] == "53") { // connections, resources
		return Unavailable
	}
	return Other
}

// mysqlClass reads the error number.
func mysqlClass(err error) Class {
	number, ok := mysqlNumber(err)
	if !ok {
		return Other
	}
	switch number {
	case 1213, // ER_LOCK_DEADLOCK, and a conflict of a Galera cluster
		1020, // ER_CHECKREAD: MariaDB's innodb_snapshot_isolation
		3101: // ER_TRANSACTION_ROLLBACK_DURING_COMMIT: group replication
		return Serialization
	case 1062, 1586: // ER_DUP_ENTRY, ER_DUP_ENTRY_WITH_KEY_NAME
		return Duplicate
	case 1205, 3572: // ER_LOCK_WAIT_TIMEOUT (MariaDB's NOWAIT, too), ER_LOCK_NOWAIT
		return LockNotAvailable
	case 1290, 1792, 1836: // --read-only, a read-only transaction, read-only mode
		return ReadOnly
	case 1146, 1049, 1054: // ER_NO_SUCH_TABLE, ER_BAD_DB_ERROR, ER_BAD_FIELD_ERROR
		return UndefinedTable
	case 1040, 1041, 1047, 1053, 1203, 1927:
		// Too many connections, out of memory, a node of a cluster that is not
		// ready, shutdown, too many of this user's, connection killed.
		return Unavailable
	}
	return Other
}

// The result codes of SQLite that matter here; the lowest byte is the primary
// one.
const (
	sqliteBusy              = 5
	sqliteLocked            = 6
	sqliteReadOnly          = 8
	sqliteFull              = 13
	sqliteCantOpen          = 14
	sqliteBusySnapshot      = 517
	sqliteConstraintPrimary = 1555
	sqliteConstraintUnique  = 2067
	sqliteConstraintRowID   = 2579
)

// sqliteClass reads the result code.
func sqliteClass(err error) Class {
	code, ok := sqliteCode(err)
	if !ok {
		return Other
	}
	switch code {
	case sqliteBusySnapshot:
		return Serialization
	case sqliteConstraintPrimary, sqliteConstraintUnique, sqliteConstraintRowID:
		return Duplicate
	}
	switch code & 0xff {
	case sqliteBusy, sqliteLocked:
		return LockNotAvailable
	case sqliteReadOnly:
		return ReadOnly
	case sqliteFull, sqliteCantOpen:
		return Unavailable
	}
	return Other
}
