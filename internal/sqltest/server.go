package sqltest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// logLines is how much of a server's log a failed test shows.
const logLines = 40

// Options are the options of a [Server].
type Options struct {
	// Config are further lines of postgresql.conf, or of the [mysqld] section
	// of my.cnf. They come last and so win.
	Config []string
	// Language is what the server's messages are written in: "de" is German.
	// Without the means for that the test is skipped, or fails, as it would be
	// without the server. Default: English.
	Language string
}

// Server is a database server. All methods are safe for concurrent use.
type Server struct {
	*instance

	t      testing.TB
	shared bool
}

// engine is a kind of server.
type engine interface {
	name() string
	user() user      // who runs it
	account() string // whom it lets in
	version() command
	create(dir string) command
	config(s *instance) (file, text string)
	serve(s *instance) command
	ping(s *instance) command
	exec(s *instance, statement string) command
	drop(database string) string
	stopSignal() syscall.Signal // to end in order
	endSignal() syscall.Signal  // to end soon, the data being nobody's any more
	bury(s *instance)           // to remove what a killed server left outside its directory
	locale(s *instance) (string, error)
	dsn(addr, database string, params []string) string
}

// instance is a server with a port and a directory that stay its own while it
// is down.
type instance struct {
	engine  engine
	options Options
	dir     string
	port    *port
	locale  string
	count   atomic.Int64 // databases made

	mu   sync.Mutex // guards what follows, and is held while it changes
	proc *process
}

// start starts a server for one test.
func start(tb testing.TB, find func() (engine, error), options []Options) *Server {
	tb.Helper()
	if len(options) > 1 {
		tb.Fatalf("sqltest: %d Options where one is taken", len(options))
	}
	var o Options
	if len(options) > 0 {
		o = options[0]
	}
	s := &Server{instance: launch(tb, find, o), t: tb}
	tb.Cleanup(func() {
		s.showLog()
		if err := s.remove(); err != nil {
			tb.Errorf("sqltest: clean up %s: %v", s.name(), err)
		}
	})
	return s
}

// launch starts a server that somebody has to remove.
func launch(tb testing.TB, find func() (engine, error), o Options) *instance {
	tb.Helper()
	e, err := find()
	if err != nil {
		tb.Fatalf("sqltest: %v", err)
	}
	s := &instance{engine: e, options: o}
	if err = s.launch(); err == nil {
		return s
	}
	err = errors.Join(err, s.remove())
	if errors.Is(err, errLanguage) {
		require(tb, e.name(), err)
	}
	tb.Fatalf("sqltest: %v", err)
	return nil
}

// launch makes the server's files, starts it and waits until it answers.
func (s *instance) launch() error {
	if err := s.prepare(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for attempt := 1; ; attempt++ {
		err := s.tryStart()
		if err == nil {
			break
		}
		// A stranger may take the port between our look and the server's.
		text := s.log()
		if attempt == 5 || !strings.Contains(text, "ddress already in use") {
			return fmt.Errorf("%w\n%s", err, tail(text, logLines))
		}
	}
	if s.options.Language != "" {
		return s.speaks()
	}
	return nil
}

// prepare makes the server's directory with a new cluster in it. It is no
// test's own: another user who runs the server could not enter that.
func (s *instance) prepare() error {
	var err error
	if s.dir, err = os.MkdirTemp("", "semel-sqltest-"); err != nil {
		return err
	}
	if err := s.engine.user().own(s.dir); err != nil {
		return err
	}
	if err := s.populate(); err != nil {
		return err
	}
	switch s.options.Language {
	case "":
		return nil
	case "de":
		if s.locale, err = s.engine.locale(s); err != nil {
			return fmt.Errorf("%w: %w", errLanguage, err)
		}
		return s.engine.user().own(s.dir)
	default:
		return fmt.Errorf("no language %q", s.options.Language)
	}
}

// tryStart reserves a port and starts the server on it.
func (s *instance) tryStart() error {
	if s.port != nil {
		if err := s.port.close(); err != nil {
			return err
		}
	}
	var err error
	if s.port, err = reservePort(); err != nil {
		return err
	}
	file, text := s.engine.config(s)
	if err := os.WriteFile(s.file(file), []byte(text), 0o600); err != nil {
		return err
	}
	if err := s.engine.user().own(s.file(file)); err != nil {
		return err
	}
	return s.run()
}

// run starts the process and waits until it answers.
func (s *instance) run() error {
	proc, err := spawn(s.engine.serve(s), s.engine.user(), s.file("log"))
	if err != nil {
		return err
	}
	s.proc = proc
	var silent error
	err = poll(startTimeout, func() (bool, error) {
		if proc.ended() {
			return false, fmt.Errorf("%s ended (%w)", s.name(), proc.err)
		}
		_, silent = s.engine.ping(s).run(user{})
		if _, ran := errors.AsType[*exec.ExitError](silent); silent != nil && !ran {
			return false, silent
		}
		return silent == nil, nil
	})
	if err != nil {
		return errors.Join(fmt.Errorf("%s does not answer: %w (%w)", s.name(), err, silent), proc.kill())
	}
	return nil
}

// remove ends the server and removes its files.
func (s *instance) remove() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	if s.proc != nil {
		errs = append(errs, s.proc.stop(s.engine.endSignal()))
		s.engine.bury(s)
	}
	if s.port != nil {
		errs = append(errs, s.port.close())
	}
	if s.dir != "" {
		errs = append(errs, os.RemoveAll(s.dir))
	}
	return errors.Join(errs...)
}

// showLog shows the server's log if the test has failed.
func (s *Server) showLog() {
	if s.t.Failed() {
		s.t.Logf("sqltest: log of %s:\n%s", s.name(), tail(s.log(), logLines))
	}
}

func (s *instance) file(name string) string { return filepath.Join(s.dir, name) }

// name tells the servers of one test apart.
func (s *instance) name() string {
	if s.port == nil {
		return s.engine.name()
	}
	return s.engine.name() + " on " + address(s.port.number)
}

// log returns what the server wrote so far.
func (s *instance) log() string {
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
