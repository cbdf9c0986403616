package redistest

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// ClusterOptions are the options of a [Cluster].
type ClusterOptions struct {
	// Replicas is how many replicas each master has. Default: none.
	Replicas int
	// NodeTimeout is how long a node may be silent before the others take it
	// for dead. Default: 2 s.
	NodeTimeout time.Duration
	// Server holds the options of every node.
	Server Options
}

// Cluster is a Redis Cluster. All methods are safe for concurrent use.
type Cluster struct {
	t       testing.TB
	nodes   []*Server // masters first
	masters int
}

// StartCluster starts a Cluster of that many masters (three at least), which
// share the slots evenly, waits until every node takes it for complete, and
// ends it with the test. It takes one ClusterOptions or none. It skips the test
// as [Require] says.
//
// A Cluster serves nothing for the first two seconds.
func StartCluster(tb testing.TB, masters int, options ...ClusterOptions) *Cluster {
	tb.Helper()
	if masters < 3 {
		tb.Fatalf("redistest: a Cluster of %d masters", masters)
	}
	o := only(tb, options)
	o.NodeTimeout = orElse(o.NodeTimeout, 2*time.Second)
	o.Server.Config = append([]string{
		"cluster-enabled yes",
		"cluster-config-file nodes.conf",
		fmt.Sprintf("cluster-node-timeout %d", o.NodeTimeout.Milliseconds()),
		// Replicas stay where they were put.
		"cluster-migration-barrier 999",
	}, o.Server.Config...)

	c := &Cluster{t: tb, masters: masters}
	for i := range masters * (1 + o.Replicas) {
		node := Start(tb, o.Server)
		// Nodes that believed to be of one epoch would have to sort it out.
		node.MustDo("CLUSTER", "SET-CONFIG-EPOCH", i+1)
		if i < masters {
			args := []any{"CLUSTER", "ADDSLOTS"}
			for slot := i * slots / masters; slot < (i+1)*slots/masters; slot++ {
				args = append(args, slot)
			}
			node.MustDo(args...)
		}
		// Each meets each: gossip alone would take its time.
		for _, other := range c.nodes {
			node.MustDo("CLUSTER", "MEET", loopback, other.Port())
		}
		c.nodes = append(c.nodes, node)
	}
	for i, replica := range c.nodes[masters:] {
		master := nodeID(c.nodes[i%masters])
		c.await("know one another", func() (bool, error) {
			_, err := replica.Do("CLUSTER", "REPLICATE", master)
			return err == nil, nil // Refused until it knows the master.
		})
	}
	c.WaitOK()
	return c
}

// Nodes are all nodes: first those that were masters at first, then their
// replicas, one for each master, and again.
func (c *Cluster) Nodes() []*Server { return slices.Clone(c.nodes) }

// Addrs are the addresses of all nodes.
func (c *Cluster) Addrs() []string {
	var addrs []string
	for _, node := range c.nodes {
		addrs = append(addrs, node.Addr())
	}
	return addrs
}

// WaitOK waits until every node that is up takes the Cluster for complete, is
// connected to all others that are up, is in sync if it is a replica, and says
// the same as the others of who serves what.
func (c *Cluster) WaitOK() {
	c.t.Helper()
	c.await("become complete", func() (bool, error) {
		up := make(map[int][]peer) // What each node sees, by its port.
		for _, node := range c.nodes {
			if peers, err := view(node); err == nil {
				up[node.Port()] = peers
			}
		}
		seen := ""
		for _, node := range c.nodes {
			peers, ok := up[node.Port()]
			if !ok {
				continue
			}
			said := describe(peers)
			if seen == "" {
				seen = said
			}
			if said != seen || len(peers) != len(c.nodes) || !healthy(node) {
				return false, nil
			}
			for _, p := range peers {
				if _, ok := up[p.port]; ok && !p.connected {
					return false, nil
				}
			}
		}
		return seen != "", nil
	})
}

// healthy reports whether a node takes its Cluster for complete, and has its
// master's data if it is a replica.
func healthy(node *Server) bool {
	reply, err := node.Do("CLUSTER", "INFO")
	if err != nil || fields(reply)["cluster_state"] != "ok" {
		return false
	}
	info, err := node.Info("replication")
	return err == nil && (info["role"] == "master" || info["master_link_status"] == "up")
}

// NodeForSlot returns the master that serves a slot, as the nodes see it that
// are up, and waits while none of them knows one that is up.
func (c *Cluster) NodeForSlot(slot int) *Server {
	c.t.Helper()
	var owner *Server
	c.await(fmt.Sprintf("serve slot %d", slot), func() (bool, error) {
		for _, node := range c.nodes {
			peers, err := view(node)
			if err != nil {
				continue
			}
			// A node knows best about itself.
			for _, p := range peers {
				if p.port == node.Port() && p.serves(slot) {
					owner = node
					return true, nil
				}
			}
		}
		return false, nil
	})
	return owner
}

// NodeForKey returns the master that serves a key, as NodeForSlot does.
func (c *Cluster) NodeForKey(key string) *Server {
	c.t.Helper()
	return c.NodeForSlot(KeySlot(key))
}

// Failover makes a replica the master of its slots, with the consent of the
// present master if that is up, and waits until all nodes know. No
// acknowledged write is lost then.
func (c *Cluster) Failover(replica *Server) {
	c.t.Helper()
	reply, err := replica.Do("ROLE")
	role, _ := reply.([]any)
	if err != nil || len(role) < 3 || role[0] != "slave" {
		c.t.Fatalf("redistest: %s is not a replica: %v %v", replica.name(), reply, err)
	}
	args := []any{"CLUSTER", "FAILOVER"}
	if _, err := do(fmt.Sprintf("%v:%v", role[1], role[2]), "PING"); err != nil {
		args = append(args, "FORCE")
	}
	replica.MustDo(args...)
	c.await("fail over", func() (bool, error) {
		info, err := replica.Info("replication")
		return info["role"] == "master", err
	})
	c.WaitOK()
}

// await waits until something is true of the Cluster.
func (c *Cluster) await(what string, done func() (bool, error)) {
	c.t.Helper()
	if err := poll(startTimeout, done); err != nil {
		c.t.Fatalf("redistest: cluster does not %s: %v", what, err)
	}
}

// nodeID is the name by which the nodes of a Cluster know a node.
func nodeID(s *Server) string {
	s.t.Helper()
	return fmt.Sprint(s.MustDo("CLUSTER", "MYID"))
}
