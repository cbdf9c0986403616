package redistest

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"
)

// masterName is what the sentinels call the master.
const masterName = "semel"

// ReplicatedOptions are the options of a [Replicated].
type ReplicatedOptions struct {
	// Replicas is how many replicas the master has. Default: 1.
	Replicas int
	// DownAfter is how long a server may be silent before a sentinel takes it
	// for dead. Default: 1 s. At least 2.5 s before Redis 7. On a busy machine
	// much less makes sentinels replace masters that are well.
	DownAfter time.Duration
	// FailoverTimeout is how long a failover may take; after twice that time
	// another is tried. Default: 3 s.
	FailoverTimeout time.Duration
	// Server holds the options of the master and its replicas.
	Server Options
}

// Replicated is a master, its replicas, and three sentinels, two of which
// decide. All methods are safe for concurrent use.
type Replicated struct {
	t         testing.TB
	servers   []*Server
	sentinels []*Server
}

// StartReplicated starts servers and sentinels, waits until the replicas have
// their master's data and the sentinels know everybody, and ends all of them
// with the test. It takes one ReplicatedOptions or none. It skips the test as
// [Require] says.
func StartReplicated(tb testing.TB, options ...ReplicatedOptions) *Replicated {
	tb.Helper()
	o := only(tb, options)
	o.Replicas = orElse(o.Replicas, 1)
	o.DownAfter = orElse(o.DownAfter, time.Second)
	o.FailoverTimeout = orElse(o.FailoverTimeout, 3*time.Second)
	r := &Replicated{t: tb}
	for range 1 + o.Replicas {
		r.servers = append(r.servers, Start(tb, o.Server))
	}
	for _, replica := range r.servers[1:] {
		replica.ReplicaOf(r.servers[0])
	}
	for range 3 {
		r.sentinels = append(r.sentinels, startSentinel(tb, r.servers[0], o))
	}
	r.await("know one another", r.settled)
	return r
}

// startSentinel starts a sentinel that watches a master.
func startSentinel(tb testing.TB, master *Server, o ReplicatedOptions) *Server {
	tb.Helper()
	s := start(tb, false, []string{"--sentinel"}, func(*Server) []string { return nil })
	// Sentinels find the replicas and each other by what they read and publish
	// every so often, and connect again no sooner than that. One that was not
	// scheduled for a while would do nothing for half a minute.
	_, err := s.Do("SENTINEL", "DEBUG",
		"PING-PERIOD", 250, "INFO-PERIOD", 400, "PUBLISH-PERIOD", 200, "ASK-PERIOD", 200,
		"TILT-TRIGGER", 10_000, "TILT-PERIOD", 1000)
	if err != nil {
		// Before Redis 7 they connect again every second. Not to be connected
		// must not look like being dead.
		o.DownAfter = max(o.DownAfter, 2500*time.Millisecond)
	}
	s.MustDo("SENTINEL", "MONITOR", masterName, loopback, master.Port(), 2)
	for name, value := range map[string]time.Duration{
		"down-after-milliseconds": o.DownAfter,
		"failover-timeout":        o.FailoverTimeout,
	} {
		s.MustDo("SENTINEL", "SET", masterName, name, value.Milliseconds())
	}
	return s
}

// MasterName is what the sentinels call the master.
func (r *Replicated) MasterName() string { return masterName }

// SentinelAddrs are the addresses of the sentinels.
func (r *Replicated) SentinelAddrs() []string {
	var addrs []string
	for _, s := range r.sentinels {
		addrs = append(addrs, s.Addr())
	}
	return addrs
}

// Sentinels are the sentinels.
func (r *Replicated) Sentinels() []*Server { return slices.Clone(r.sentinels) }

// Servers are all servers; the first is the one that was the master at first.
func (r *Replicated) Servers() []*Server { return slices.Clone(r.servers) }

// Master waits until the sentinels that are up agree on a master which takes
// itself for one, and returns it.
func (r *Replicated) Master() *Server {
	r.t.Helper()
	return r.WaitMaster(nil)
}

// Replicas are all servers but the present master, those that are down
// included.
func (r *Replicated) Replicas() []*Server {
	r.t.Helper()
	master := r.Master()
	return slices.DeleteFunc(r.Servers(), func(s *Server) bool { return s == master })
}

// WaitMaster is Master for a master other than old.
func (r *Replicated) WaitMaster(old *Server) *Server {
	r.t.Helper()
	var master *Server
	r.await("agree on a new master", func() bool {
		master = r.agreed()
		return master != nil && master != old
	})
	return master
}

// Failover makes the sentinels replace a healthy master, waits until the old
// one follows the new one, and returns the new one. Acknowledged writes of the
// last moments before the change are lost, as Sentinel does not wait for them.
func (r *Replicated) Failover() *Server {
	r.t.Helper()
	old := r.Master()
	var master *Server
	var asked time.Time
	r.await("agree on a new master", func() bool {
		// It is refused while the last one is not finished, and given up when
		// a replica was not heard of for a second. Then it is asked for again,
		// but not of a sentinel that has changed the master.
		if chief := r.sentinels[0]; time.Since(asked) > time.Second && masterPort(chief) == old.Port() {
			_, _ = chief.Do("SENTINEL", "FAILOVER", masterName)
			asked = time.Now()
		}
		master = r.agreed()
		return master != nil && master != old
	})
	r.await("finish a failover", r.settled)
	return master
}

// KillMaster kills the master, waits until the sentinels have made a replica
// the new one, and returns that. Writes that the replica has not had are lost,
// see [Server.HoldReplicas]. The old master may be started again: it becomes a
// replica.
func (r *Replicated) KillMaster() *Server {
	r.t.Helper()
	old := r.Master()
	old.Kill()
	return r.WaitMaster(old)
}

// agreed returns the server on which all sentinels that answer agree, at least
// two of them, and which is a master; nil if there is none.
func (r *Replicated) agreed() *Server {
	votes, voters := make(map[int]int), 0
	for _, s := range r.sentinels {
		if port := masterPort(s); port != 0 {
			votes[port]++
			voters++
		}
	}
	for _, s := range r.servers {
		if votes[s.Port()] == max(voters, 2) {
			info, err := s.Info("replication")
			if err == nil && info["role"] == "master" {
				return s
			}
		}
	}
	return nil
}

// masterPort is the port of the master as one sentinel sees it, 0 if that does
// not answer.
func masterPort(sentinel *Server) int {
	reply, err := sentinel.Do("SENTINEL", "GET-MASTER-ADDR-BY-NAME", masterName)
	addr, ok := reply.([]any)
	if err != nil || !ok || len(addr) != 2 {
		return 0
	}
	port, err := strconv.Atoi(fmt.Sprint(addr[1]))
	if err != nil {
		return 0
	}
	return port
}

// settled reports whether every sentinel sees the same healthy master, every
// other server that is up as its replica in sync, and the other sentinels.
func (r *Replicated) settled() bool {
	master := r.agreed()
	if master == nil {
		return false
	}
	up := 0
	for _, s := range r.servers {
		info, err := s.Info("replication")
		if err != nil || s == master {
			continue
		}
		if info["master_port"] != fmt.Sprint(master.Port()) || info["master_link_status"] != "up" {
			return false
		}
		up++
	}
	for _, s := range r.sentinels {
		reply, err := s.Do("SENTINEL", "MASTER", masterName)
		seen := pairs(reply)
		if err != nil || seen["flags"] != "master" || seen["num-other-sentinels"] != fmt.Sprint(len(r.sentinels)-1) {
			return false
		}
		reply, err = s.Do("SENTINEL", "SLAVES", masterName)
		replicas, _ := reply.([]any)
		if err != nil {
			return false
		}
		healthy := 0
		for _, replica := range replicas {
			seen := pairs(replica)
			if seen["flags"] == "slave" && seen["master-link-status"] == "ok" && seen["master-port"] == fmt.Sprint(master.Port()) {
				healthy++
			}
		}
		if healthy != up {
			return false
		}
	}
	return true
}

// await waits until something is true of the group.
func (r *Replicated) await(what string, done func() bool) {
	r.t.Helper()
	if err := poll(startTimeout, func() (bool, error) { return done(), nil }); err != nil {
		r.t.Fatalf("redistest: sentinels do not %s: %v", what, err)
	}
}

// pairs makes a map of a list of names and values.
func pairs(reply any) map[string]string {
	list, _ := reply.([]any)
	m := make(map[string]string)
	for i := 0; i+1 < len(list); i += 2 {
		m[fmt.Sprint(list[i])] = fmt.Sprint(list[i+1])
	}
	return m
}
