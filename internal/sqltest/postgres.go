package sqltest

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// postgres is the programs of PostgreSQL.
type postgres struct {
	as                         user
	server, initdb, ready, sql string
}

// Postgres returns the PostgreSQL server that the tests of this process share,
// and keeps it running until the test ends. It skips the test as
// [RequirePostgres] says.
func Postgres(tb testing.TB) *Server {
	tb.Helper()
	RequirePostgres(tb)
	return sharedPostgres.use(tb, findPostgres)
}

// StartPostgres starts a PostgreSQL server, waits until it answers, and ends it
// with the test. It takes one Options or none. It skips the test as
// [RequirePostgres] says.
func StartPostgres(tb testing.TB, options ...Options) *Server {
	tb.Helper()
	RequirePostgres(tb)
	return start(tb, findPostgres, options)
}

// findPostgres finds the programs of the newest version.
func findPostgres() (engine, error) {
	dirs, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return nil, err
	}
	slices.SortFunc(dirs, func(a, b string) int { return majorOf(b) - majorOf(a) })
	dirs = append(dirs, "/opt/homebrew/bin", "/usr/local/pgsql/bin")
	p := &postgres{}
	if p.server, err = find(dirs, "postgres"); err != nil {
		return nil, err
	}
	if p.server, err = filepath.EvalSymlinks(p.server); err != nil {
		return nil, err
	}
	// The rest of the same version lies beside it. Debian's own psql is a
	// script that looks for a cluster of Debian's.
	beside := filepath.Dir(p.server) + "/"
	p.initdb, p.ready, p.sql = beside+"initdb", beside+"pg_isready", beside+"psql"
	p.as, err = servant("postgres", "nobody")
	return p, err
}

// majorOf is the version in a path like /usr/lib/postgresql/15/bin.
func majorOf(dir string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
	return n
}

func (*postgres) name() string       { return "PostgreSQL" }
func (p *postgres) user() user       { return p.as }
func (*postgres) account() string    { return "postgres" }
func (p *postgres) version() command { return command{program: p.server, args: []string{"--version"}} }

func (p *postgres) create(dir string) command {
	return command{program: p.initdb, args: []string{
		"--pgdata", dir, "--username", p.account(), "--auth", "trust", "--no-sync", "--wal-segsize", "1",
		"--encoding", "UTF8", "--no-locale",
	}}
}

// config keeps all that a server makes in its directory, and nothing from the
// disk's slowness: what it writes is safe from its own death, if not from the
// machine's.
func (*postgres) config(s *instance) (file, text string) {
	lines := []string{
		"listen_addresses = '" + loopback + "'",
		fmt.Sprintf("port = %d", s.port.number),
		"unix_socket_directories = ''",
		"dynamic_shared_memory_type = mmap",
		"shared_buffers = 32MB",
		"max_connections = 300",
		"max_wal_size = 64MB",
		"min_wal_size = 2MB",
		"fsync = off",
		"full_page_writes = off",
	}
	if s.locale != "" {
		lines = append(lines, "lc_messages = '"+s.locale+"'")
	}
	return "data/postgresql.auto.conf", strings.Join(append(lines, s.options.Config...), "\n") + "\n"
}

func (p *postgres) serve(s *instance) command {
	c := command{program: p.server, args: []string{"-D", s.file("data")}}
	if s.locale != "" {
		c.env = []string{"LOCPATH=" + s.file("locale")}
	}
	return c
}

func (p *postgres) ping(s *instance) command {
	return command{program: p.ready, args: []string{
		"--host", loopback, "--port", strconv.Itoa(s.port.number), "--username", p.account(), "--dbname", "postgres",
	}}
}

func (p *postgres) exec(s *instance, statement string) command {
	return command{program: p.sql, args: []string{
		"--host", loopback, "--port", strconv.Itoa(s.port.number), "--username", p.account(), "--dbname", "postgres",
		"--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set", "ON_ERROR_STOP=1", "--command", statement,
	}}
}

func (*postgres) drop(name string) string { return "DROP DATABASE " + name + " WITH (FORCE)" }

// stopSignal asks for a fast shutdown: sessions are ended, data is written.
func (*postgres) stopSignal() syscall.Signal { return fastSignal }

// endSignal asks for an immediate one, which unlike a killed server leaves no
// shared memory behind.
func (*postgres) endSignal() syscall.Signal { return quitSignal }

// bury removes the small piece of shared memory by which a server knows that
// its directory is in use. One that was killed leaves it, with its number in a
// file.
func (p *postgres) bury(s *instance) {
	lock, err := os.ReadFile(s.file("data/postmaster.pid"))
	if err != nil {
		return // It ended in order.
	}
	lines := strings.Split(string(lock), "\n")
	program, err := find(nil, "ipcrm")
	if err != nil || len(lines) < 7 {
		return
	}
	if fields := strings.Fields(lines[6]); len(fields) == 2 {
		_, _ = command{program: program, args: []string{"--shmem-id", fields[1]}}.run(p.as)
	}
}

func (p *postgres) locale(s *instance) (string, error) { return germanLocale(s) }

func (p *postgres) dsn(addr, name string, params []string) string {
	values := url.Values{"sslmode": {"disable"}}
	for _, param := range params {
		key, value, _ := strings.Cut(param, "=")
		values.Set(key, value)
	}
	u := url.URL{
		Scheme: "postgres", User: url.User(p.account()), Host: addr, Path: "/" + name,
		// A space must not become a plus: not every driver reads it as one.
		RawQuery: strings.ReplaceAll(values.Encode(), "+", "%20"),
	}
	return u.String()
}
