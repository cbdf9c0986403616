package redistest

import (
	"errors"
	"os"
	"strings"
)

// dumpFile is where a server saves and from where it loads its data.
const dumpFile = "dump.rdb"

// Snapshot is the data of a server at one time, expiry times included: they
// are absolute, and what is over when it is loaded is not loaded.
type Snapshot []byte

// Stop asks the server to end and waits for that. A paused server is resumed
// first, one that takes too long is killed and fails the test.
func (s *Server) Stop() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.must("stop", s.proc.stop())
}

// Kill ends the server at once (SIGKILL), paused or not, and waits for that.
// Connections break; data that was not on disk is lost. It does nothing to a
// server that is down.
func (s *Server) Kill() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.must("kill", s.proc.kill())
}

// Pause stops the server as it is (SIGSTOP) until Resume. The kernel still
// accepts connections and data for it, and nothing is answered. The server has
// stopped when Pause returns.
func (s *Server) Pause() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.must("pause", pause(s.proc.os))
	s.must("pause", poll(adminTimeout, func() (bool, error) {
		return paused(s.proc.os.Pid), nil
	}))
}

// Resume ends Pause (SIGCONT): the server goes on with what has piled up. It
// does nothing to a server that is down or not paused.
func (s *Server) Resume() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := resume(s.proc.os); !errors.Is(err, os.ErrProcessDone) {
		s.must("resume", err)
	}
}

// Restart kills the server if it runs and starts it again on the same port,
// with what is on disk: everything with Options.AppendOnly, else nothing.
func (s *Server) Restart() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.must("kill", s.proc.kill())
	s.must("restart", s.run())
}

// RestartEmpty is Restart after the data on disk has been removed.
func (s *Server) RestartEmpty() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.must("kill", s.proc.kill())
	s.must("wipe", s.wipe())
	s.must("restart", s.run())
}

// RestartKeep restarts a running server with all its data. A client that
// writes meanwhile may lose what it wrote.
func (s *Server) RestartKeep() {
	s.t.Helper()
	if s.aof {
		s.Restart()
		return
	}
	s.RestartFrom(s.Snapshot())
}

// Snapshot saves the data of the running server as it is now. The server keeps
// nothing of it on disk.
func (s *Server) Snapshot() Snapshot {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.must("save", poll(adminTimeout, func() (bool, error) {
		_, err := do(s.Addr(), "SAVE")
		if err != nil && strings.Contains(err.Error(), "in progress") {
			return false, nil // It saves already, perhaps for a new replica.
		}
		return err == nil, err
	}))
	data, err := os.ReadFile(s.file(dumpFile))
	s.must("save", err)
	s.must("save", os.Remove(s.file(dumpFile)))
	return data
}

// RestartFrom kills the server if it runs and starts it again on the same
// port with the data of a snapshot, its own or another server's. It is not for
// servers with Options.AppendOnly, which load their log and nothing else.
func (s *Server) RestartFrom(snapshot Snapshot) {
	s.t.Helper()
	if s.aof {
		s.t.Fatal("redistest: RestartFrom on a server with AppendOnly")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.must("kill", s.proc.kill())
	s.must("load", os.WriteFile(s.file(dumpFile), snapshot, 0o600))
	s.must("restart", s.run())
	// The next restart is not to find it.
	s.must("load", s.wipe())
}

// wipe removes the data on disk, and leaves what a Cluster node knows of its
// cluster.
func (s *Server) wipe() error {
	return errors.Join(
		os.RemoveAll(s.file(dumpFile)),
		os.RemoveAll(s.file("appendonlydir")),  // Redis 7
		os.RemoveAll(s.file("appendonly.aof")), // Redis 6
	)
}

// must ends the test if err is not nil.
func (s *Server) must(what string, err error) {
	if err != nil {
		s.t.Helper()
		s.t.Fatalf("redistest: %s %s: %v", what, s.name(), err)
	}
}
