package sqltest_test

import (
	"context"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/internal/sqltest"
)

// kinds are the kinds of servers there are.
var kinds = []struct {
	name   string
	shared func(testing.TB) *sqltest.Server
	start  func(testing.TB, ...sqltest.Options) *sqltest.Server
	// setting asks for a setting that config sets to 77.
	config, setting string
}{
	{"PostgreSQL", sqltest.Postgres, sqltest.StartPostgres, "max_connections = 77", "SHOW max_connections"},
	{"MariaDB", sqltest.MariaDB, sqltest.StartMariaDB, "max-connections=77", "SELECT @@max_connections"},
}

func TestShared(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			one, two := kind.shared(t), kind.shared(t)
			require.Equal(t, one.Addr(), two.Addr())
			require.Equal(t, "42", one.Exec(t, "SELECT 42"))
			var name string
			t.Run("Database", func(t *testing.T) {
				name = one.Database(t)
				require.NotEqual(t, name, two.Database(t))
				require.Contains(t, one.DSN(name), net.JoinHostPort(one.Host(), strconv.Itoa(one.Port())))
				require.Contains(t, databases(t, one), name)
			})
			require.NotContains(t, databases(t, one), name, "dropped with its test")
		})
	}
}

// databases are the names of all databases.
func databases(t *testing.T, s *sqltest.Server) string {
	t.Helper()
	if s.User() == "postgres" {
		return s.Exec(t, "SELECT datname FROM pg_database")
	}
	return s.Exec(t, "SHOW DATABASES")
}

func TestControl(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			s := kind.start(t, sqltest.Options{Config: []string{kind.config}})
			require.Equal(t, "77", s.Exec(t, kind.setting))
			name := s.Database(t)

			pid := s.Pid()
			s.Kill()
			s.Kill()
			requireRefused(t, s)
			s.Start()
			require.NotEqual(t, pid, s.Pid())
			require.Contains(t, databases(t, s), name, "what was acknowledged survives")

			s.Stop()
			requireRefused(t, s)
			s.Start()
			s.Start()
			require.Contains(t, databases(t, s), name)

			s.Pause()
			s.Pause()
			answered := make(chan struct{})
			go func() {
				defer close(answered)
				s.Exec(t, "SELECT 1")
			}()
			conn := dial(t, s.Addr()) // The kernel takes connections.
			require.NoError(t, conn.SetDeadline(time.Now().Add(50*time.Millisecond)))
			_, err := conn.Read(make([]byte, 1))
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			select {
			case <-answered:
				require.Fail(t, "a paused server answered")
			default:
			}
			s.Resume()
			s.Resume()
			<-answered

			s.Pause()
			s.Kill()
			s.Start()
			require.Contains(t, databases(t, s), name)
			s.Pause() // and let the end of the test deal with it
		})
	}
}

func requireRefused(t *testing.T, s *sqltest.Server) {
	t.Helper()
	var dialer net.Dialer
	_, err := dialer.DialContext(t.Context(), "tcp", s.Addr())
	require.Error(t, err)
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	var dialer net.Dialer
	c, err := dialer.DialContext(context.WithoutCancel(t.Context()), "tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(10*time.Second)))
	return c
}

// A test that matches an error's text passes in English only.
func TestLanguage(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			s := kind.start(t, sqltest.Options{Language: "de"})
			ask := "SELECT @@lc_messages"
			if s.User() == "postgres" {
				ask = "SHOW lc_messages"
			}
			require.True(t, strings.HasPrefix(s.Exec(t, ask), "de_DE"))
		})
	}
}

func TestDSN(t *testing.T) {
	t.Parallel()
	s := sqltest.Postgres(t)
	require.Equal(t,
		"postgres://postgres@"+s.Addr()+"/db?default_transaction_isolation=repeatable%20read&sslmode=disable",
		s.DSN("db", "default_transaction_isolation=repeatable read"))
	m := sqltest.MariaDB(t)
	require.Equal(t, "root@tcp("+m.Addr()+")/db", m.DSN("db"))
	require.Equal(t, "root@tcp(127.0.0.1:1)/db?tx_isolation=%27REPEATABLE-READ%27",
		m.DSNAt("127.0.0.1:1", "db", "tx_isolation='REPEATABLE-READ'"))
}
