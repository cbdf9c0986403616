package sqltest

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// mariadb is the programs of MariaDB.
type mariadb struct {
	as                          user
	server, install, admin, sql string
}

// MariaDB returns the MariaDB server that the tests of this process share, and
// keeps it running until the test ends. It skips the test as [RequireMariaDB]
// says.
func MariaDB(tb testing.TB) *Server {
	tb.Helper()
	RequireMariaDB(tb)
	return sharedMariaDB.use(tb, findMariaDB)
}

// StartMariaDB starts a MariaDB server, waits until it answers, and ends it
// with the test. It takes one Options or none. It skips the test as
// [RequireMariaDB] says.
func StartMariaDB(tb testing.TB, options ...Options) *Server {
	tb.Helper()
	RequireMariaDB(tb)
	return start(tb, findMariaDB, options)
}

// findMariaDB finds the programs.
func findMariaDB() (engine, error) {
	dirs := []string{"/usr/sbin", "/usr/libexec", "/usr/local/sbin", "/opt/homebrew/bin"}
	m := &mariadb{}
	var err error
	for _, p := range []struct {
		path *string
		name string
	}{{&m.server, "mariadbd"}, {&m.install, "mariadb-install-db"}, {&m.admin, "mariadb-admin"}, {&m.sql, "mariadb"}} {
		if *p.path, err = find(dirs, p.name); err != nil {
			return nil, err
		}
	}
	m.as, err = servant("mysql", "nobody")
	return m, err
}

func (*mariadb) name() string    { return "MariaDB" }
func (m *mariadb) user() user    { return m.as }
func (*mariadb) account() string { return "root" }
func (m *mariadb) version() command {
	return command{program: m.server, args: []string{"--no-defaults", "--version"}}
}

func (m *mariadb) create(dir string) command {
	return command{program: m.install, args: []string{
		"--no-defaults", "--datadir=" + dir, "--auth-root-authentication-method=normal", "--skip-test-db",
		"--innodb-log-file-size=8M", "--innodb-flush-method=nosync",
	}}
}

// config keeps all that a server makes in its directory, and nothing from the
// disk's slowness: what it writes is safe from its own death, if not from the
// machine's.
func (*mariadb) config(s *instance) (file, text string) {
	lines := []string{
		"[mysqld]",
		"bind-address=" + loopback,
		fmt.Sprintf("port=%d", s.port.number),
		"datadir=" + s.file("data"),
		"socket=" + s.file("socket"),
		"pid-file=" + s.file("pid"),
		"tmpdir=" + s.dir,
		"skip-name-resolve",
		"skip-log-bin",
		"max-connections=300",
		"performance-schema=OFF",
		"innodb-buffer-pool-size=32M",
		"innodb-log-file-size=8M",
		"innodb-flush-log-at-trx-commit=2",
		"innodb-flush-method=nosync",
		"innodb-fast-shutdown=1",
	}
	if s.locale != "" {
		lines = append(lines, "lc-messages="+s.locale)
	}
	return "my.cnf", strings.Join(append(lines, s.options.Config...), "\n") + "\n"
}

func (m *mariadb) serve(s *instance) command {
	return command{program: m.server, args: []string{"--defaults-file=" + s.file("my.cnf")}}
}

// client is how a client program is told where the server is.
func (m *mariadb) client(s *instance) []string {
	return []string{
		"--no-defaults", "--protocol=tcp", "--host=" + loopback, "--port=" + strconv.Itoa(s.port.number),
		"--user=" + m.account(),
	}
}

func (m *mariadb) ping(s *instance) command {
	return command{program: m.admin, args: append(m.client(s), "--connect-timeout=5", "ping")}
}

func (m *mariadb) exec(s *instance, statement string) command {
	return command{program: m.sql, args: append(m.client(s), "--batch", "--skip-column-names", "--raw", "--execute", statement)}
}

func (*mariadb) drop(name string) string { return "DROP DATABASE " + name }

func (*mariadb) stopSignal() syscall.Signal { return termSignal }
func (*mariadb) endSignal() syscall.Signal  { return killSignal }
func (*mariadb) bury(*instance)             {}

// locale is among the languages that every MariaDB speaks.
func (*mariadb) locale(*instance) (string, error) { return "de_DE", nil }

func (m *mariadb) dsn(addr, name string, params []string) string {
	values := url.Values{}
	for _, param := range params {
		key, value, _ := strings.Cut(param, "=")
		values.Set(key, value)
	}
	dsn := m.account() + "@tcp(" + addr + ")/" + name
	if len(values) > 0 {
		dsn += "?" + strings.ReplaceAll(values.Encode(), "+", "%20")
	}
	return dsn
}
