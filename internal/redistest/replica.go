package redistest

import (
	"fmt"
	"net"
	"strconv"
	"time"
)

// ReplicaOf makes the server a replica of another and waits until it has all
// of its data. With nil it becomes a master and keeps the data it has.
func (s *Server) ReplicaOf(master *Server) {
	s.t.Helper()
	if master == nil {
		s.MustDo("REPLICAOF", "NO", "ONE")
		return
	}
	s.ReplicaOfAddr(master.Addr())
}

// ReplicaOfAddr is ReplicaOf for a master behind a [Proxy].
func (s *Server) ReplicaOfAddr(addr string) {
	s.t.Helper()
	host, port, err := net.SplitHostPort(addr)
	s.must("replicate", err)
	s.MustDo("REPLICAOF", host, port)
	s.must("replicate", poll(startTimeout, s.inSync))
}

// inSync reports whether the server is a replica that has had its master's
// data.
func (s *Server) inSync() (bool, error) {
	info, err := s.Info("replication")
	return info["role"] == "slave" && info["master_link_status"] == "up" && info["master_sync_in_progress"] == "0", err
}

// HoldReplicas cuts a master off from its replicas without anybody noticing:
// both go on to answer, replicas have everything written before HoldReplicas
// was called, and no write that begins after it returned reaches them until
// ReleaseReplicas. Kill the master, and those writes are lost although they
// were acknowledged.
//
// Sentinels and Cluster nodes do not promote a replica that has been cut off
// for some ten times as long as they take to call a server dead.
func (s *Server) HoldReplicas() {
	s.t.Helper()
	s.must("hold replicas", s.flushReplicas())
	s.MustDo("ACL", "SETUSER", "default", "-sync", "-psync")
	s.MustDo("CLIENT", "KILL", "TYPE", "replica")
}

// ReleaseReplicas ends HoldReplicas. The replicas come back by themselves.
func (s *Server) ReleaseReplicas() {
	s.t.Helper()
	// A replica tries SYNC when it was denied PSYNC, and if that succeeded it
	// would acknowledge nothing from then on. So SYNC stays denied.
	s.MustDo("ACL", "SETUSER", "default", "+psync")
}

// flushReplicas waits until every replica has all that the master has written
// so far.
func (s *Server) flushReplicas() error {
	info, err := s.Info("replication")
	if err != nil {
		return err
	}
	replicas, err := strconv.ParseInt(info["connected_slaves"], 10, 64)
	if err != nil {
		return err
	}
	c, err := Dial(s.Addr())
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	if err := c.SetDeadline(time.Now().Add(adminTimeout)); err != nil {
		return err
	}
	// WAIT is about all that was written before the last command of its own
	// connection.
	if _, err := c.Do("PING"); err != nil {
		return err
	}
	have, err := c.Do("WAIT", replicas, (adminTimeout / 2).Milliseconds())
	if err == nil && have != replicas {
		err = fmt.Errorf("%v of %d replicas have what was written", have, replicas)
	}
	return err
}
