package sqltest

// Stop asks the server to end its sessions, save its data and end, and waits
// for that. A paused server is resumed first; one that takes too long is killed
// and fails the test. It does nothing to a server that is down.
func (s *Server) Stop() {
	s.t.Helper()
	s.alone("Stop")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.must("stop", s.proc.stop(s.engine.stopSignal()))
}

// Kill ends the server and all its processes at once (SIGKILL), paused or not,
// and waits for that. It does nothing to a server that is down.
func (s *Server) Kill() {
	s.t.Helper()
	s.alone("Kill")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.must("kill", s.proc.kill())
}

// Start starts the server again, on the same port and with its data, and waits
// until it answers. It does nothing to a server that runs.
func (s *Server) Start() {
	s.t.Helper()
	s.alone("Start")
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc.ended() {
		s.must("start", s.run())
	}
}

// Restart is Stop and Start.
func (s *Server) Restart() {
	s.t.Helper()
	s.Stop()
	s.Start()
}

// Pause stops the server and all its processes as they are (SIGSTOP) until
// Resume. The kernel still accepts connections and data for it, and nothing is
// answered. They have stopped when Pause returns.
func (s *Server) Pause() {
	s.t.Helper()
	s.alone("Pause")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.must("pause", s.proc.pause())
}

// Resume ends Pause (SIGCONT): the server goes on with what has piled up. It
// does nothing to a server that is down or not paused.
func (s *Server) Resume() {
	s.t.Helper()
	s.alone("Resume")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.must("resume", s.proc.resume())
}

// Pid is the process id of the server, or of its last process if it is down.
func (s *Server) Pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc.os.Pid
}

// alone ends the test if the server is not its own.
func (s *Server) alone(method string) {
	s.t.Helper()
	if s.shared {
		s.t.Fatalf("sqltest: %s of a server that other tests use, too", method)
	}
}

// must ends the test if err is not nil.
func (s *Server) must(what string, err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("sqltest: %s %s: %v", what, s.name(), err)
	}
}
