package redistest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// startTimeout is how long a server may take to answer. It answers within
	// some 20 ms on an idle machine.
	startTimeout = 30 * time.Second
	// adminTimeout bounds one command of ours.
	adminTimeout = 10 * time.Second
	// pollEvery is the pause between two looks at something that will change.
	pollEvery = 2 * time.Millisecond
	// logLines is how much of a server's log a failed test shows.
	logLines = 40
)

// Options are the options of a [Server].
type Options struct {
	// AppendOnly keeps data on disk, written and synced before each reply, so
	// that it survives Kill and Restart. Default: no data on disk.
	AppendOnly bool
	// UnixSocket makes the server listen on Server.Socket, too.
	UnixSocket bool
	// Config are further lines of redis.conf. They come last and so win.
	Config []string
}

// Server is a redis-server, or a sentinel, with a port and a directory that
// stay its own while it is down. All methods are safe for concurrent use.
type Server struct {
	t    testing.TB
	mode []string // arguments that follow the configuration file
	aof  bool
	dir  string
	port *port

	mu   sync.Mutex // guards what follows, and is held while it changes
	proc *process
}

// Start starts a redis-server, waits until it answers, and ends it with the
// test. It takes one Options or none. It skips the test as [Require] says.
func Start(tb testing.TB, options ...Options) *Server {
	tb.Helper()
	o := only(tb, options)
	return start(tb, o.AppendOnly, nil, func(s *Server) []string {
		lines := []string{
			"save \"\"",
			"appendfsync always",
			"appendonly " + yesNo(o.AppendOnly),
			"dbfilename " + dumpFile,
			// A replica synced through a file is sent what follows at once, not
			// after its next acknowledgement. The file must not be loaded later.
			"repl-diskless-sync no",
			"rdb-del-sync-files yes",
		}
		if o.UnixSocket {
			lines = append(lines, fmt.Sprintf("unixsocket %q", s.Socket()))
		}
		return append(lines, o.Config...)
	})
}

// start starts a server whose configuration may depend on its directory and
// its port.
func start(tb testing.TB, aof bool, mode []string, config func(*Server) []string) *Server {
	tb.Helper()
	Require(tb)
	s := &Server{t: tb, mode: mode, aof: aof, dir: tb.TempDir()}
	tb.Cleanup(s.cleanup)

	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for attempt := range 5 {
		err = s.tryStart(config)
		if err == nil {
			return s
		}
		// A stranger may take the port between our look and the server's.
		if !strings.Contains(s.log(), "Address already in use") {
			break
		}
		tb.Logf("redistest: attempt %d: %v", attempt+1, err)
	}
	tb.Fatalf("redistest: %v", err)
	return nil
}

// tryStart reserves a port and starts the server on it.
func (s *Server) tryStart(config func(*Server) []string) error {
	if s.port != nil {
		if err := s.port.close(); err != nil {
			return err
		}
	}
	var err error
	if s.port, err = reservePort(); err != nil {
		return err
	}
	lines := append([]string{
		"bind " + loopback,
		fmt.Sprintf("port %d", s.port.number),
		fmt.Sprintf("dir %q", s.dir),
		"protected-mode no",
		"daemonize no",
	}, config(s)...)
	text := strings.Join(lines, "\n") + "\n"
	if err := os.WriteFile(s.file("redis.conf"), []byte(text), 0o600); err != nil {
		return err
	}
	return s.run()
}

// run starts the process and waits until it answers.
func (s *Server) run() error {
	args := append([]string{s.file("redis.conf")}, s.mode...)
	proc, err := spawn("redis-server", args, s.file("log"))
	if err != nil {
		return err
	}
	s.proc = proc
	err = poll(startTimeout, func() (bool, error) {
		if proc.ended() {
			return false, fmt.Errorf("redis-server on port %d ended (%w)", s.port.number, proc.err)
		}
		_, err := do(s.Addr(), "PING")
		var failed ReplyError
		if errors.As(err, &failed) {
			// Any answer will do, except that it has not read its data yet.
			return !strings.HasPrefix(string(failed), "LOADING"), nil
		}
		return err == nil, nil
	})
	if err != nil {
		return errors.Join(fmt.Errorf("redis-server does not answer on %s: %w", s.Addr(), err), proc.kill())
	}
	return nil
}

// cleanup ends the server.
func (s *Server) cleanup() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	if s.proc != nil {
		errs = append(errs, s.proc.kill())
	}
	if s.port != nil {
		errs = append(errs, s.port.close())
	}
	if s.t.Failed() {
		s.t.Logf("redistest: log of %s:\n%s", s.name(), tail(s.log(), logLines))
	}
	if err := errors.Join(errs...); err != nil {
		s.t.Errorf("redistest: clean up %s: %v", s.name(), err)
	}
}

// Addr is the server's host and port, the same after every restart.
func (s *Server) Addr() string { return address(s.port.number) }

// Port is the server's port.
func (s *Server) Port() int { return s.port.number }

// Socket is the path of the server's Unix socket, if its Options ask for one.
func (s *Server) Socket() string { return s.file("socket") }

// Dir is the directory of the server's files.
func (s *Server) Dir() string { return s.dir }

// Pid is the process id of the server, or of its last process if it is down.
func (s *Server) Pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc.os.Pid
}

func (s *Server) file(name string) string { return filepath.Join(s.dir, name) }

// name tells the servers of one test apart.
func (s *Server) name() string {
	kind := "redis-server"
	if len(s.mode) > 0 {
		kind += " " + strings.Join(s.mode, " ")
	}
	if s.port == nil {
		return kind
	}
	return kind + " on " + s.Addr()
}

// log returns what the server wrote so far.
func (s *Server) log() string {
	text, err := os.ReadFile(s.file("log"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// tail returns the last lines of text.
func tail(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// only returns the one element of options, or the zero value.
func only[T any](tb testing.TB, options []T) T {
	tb.Helper()
	var o T
	switch len(options) {
	case 0:
	case 1:
		o = options[0]
	default:
		tb.Fatalf("redistest: %d %T where one is taken", len(options), o)
	}
	return o
}

// orElse returns value, or the default if it is zero.
func orElse[T comparable](value, standard T) T {
	var zero T
	if value == zero {
		return standard
	}
	return value
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
