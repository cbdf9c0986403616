package sqltest

import (
	"sync"
	"testing"
)

// Shared servers, one of each kind for the tests of this process.
var sharedPostgres, sharedMariaDB sharedServer

// sharedServer runs while somebody uses it.
type sharedServer struct {
	mu    sync.Mutex
	users int
	now   *instance // nil while there are no users
}

// use starts the server for its first user, and ends it after its last.
func (s *sharedServer) use(tb testing.TB, find func() (engine, error)) *Server {
	tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users == 0 {
		s.now = launch(tb, find, Options{})
	}
	s.users++
	server := &Server{instance: s.now, t: tb, shared: true}
	tb.Cleanup(func() {
		server.showLog()
		s.leave(tb)
	})
	return server
}

func (s *sharedServer) leave(tb testing.TB) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users > 0 {
		return
	}
	if err := s.now.remove(); err != nil {
		tb.Errorf("sqltest: clean up %s: %v", s.now.name(), err)
	}
	s.now = nil
}
