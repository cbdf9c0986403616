package redistest

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// errTimeout is a wait that was in vain.
var errTimeout = errors.New("timed out")

// Do sends a command on a connection of its own and returns its reply, as
// [Conn.Do] does. It gives up after 10 s. Whether the command was executed is
// unknown if the error is not a [ReplyError].
func (s *Server) Do(args ...any) (any, error) { return do(s.Addr(), args...) }

// MustDo is Do for commands that must succeed.
func (s *Server) MustDo(args ...any) any {
	s.t.Helper()
	reply, err := s.Do(args...)
	s.must(fmt.Sprint(args...), err)
	return reply
}

// Info returns the fields of one section of INFO, like "replication".
func (s *Server) Info(section string) (map[string]string, error) {
	reply, err := s.Do("INFO", section)
	if err != nil {
		return nil, err
	}
	return fields(reply), nil
}

// fields takes a text of "name:value" lines apart.
func fields(reply any) map[string]string {
	text, _ := reply.(string)
	m := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			m[name] = value
		}
	}
	return m
}

// do sends one command to a server.
func do(addr string, args ...any) (any, error) {
	c, err := Dial(addr)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	if err := c.SetDeadline(time.Now().Add(adminTimeout)); err != nil {
		return nil, err
	}
	return c.Do(args...)
}

// poll calls done until it returns true or an error, for some time.
func poll(timeout time.Duration, done func() (bool, error)) error {
	for end := time.Now().Add(timeout); ; time.Sleep(pollEvery) {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("%w after %v", errTimeout, timeout)
		}
	}
}
