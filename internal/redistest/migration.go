package redistest

import "slices"

// Migration moves a slot of a [Cluster] from one master to another, in steps
// between which a test can act: after [Cluster.MigrateSlot] the source sends
// clients that ask for keys which it does not have to the destination (ASK),
// each [Migration.MoveKeys] moves some of those it has, and
// [Migration.Finish] makes the destination the owner (MOVED).
type Migration struct {
	cluster *Cluster
	// Slot is the slot that moves.
	Slot int
	// From owns it until Finish, To after it.
	From, To *Server
}

// MigrateSlot begins to move a slot to another master. No key moves yet. Every
// node is told at the end: end it with Finish or Abort.
func (c *Cluster) MigrateSlot(slot int, to *Server) *Migration {
	c.t.Helper()
	from := c.NodeForSlot(slot)
	if from == to {
		c.t.Fatalf("redistest: slot %d is at %s already", slot, to.Addr())
	}
	to.MustDo("CLUSTER", "SETSLOT", slot, "IMPORTING", nodeID(from))
	from.MustDo("CLUSTER", "SETSLOT", slot, "MIGRATING", nodeID(to))
	return &Migration{cluster: c, Slot: slot, From: from, To: to}
}

// MoveKeys moves the given keys, or without any all keys that the slot has
// now, and returns how many it named. A key that is not there, because it has
// expired or moved before, is no error.
func (m *Migration) MoveKeys(keys ...string) int {
	m.From.t.Helper()
	if len(keys) == 0 {
		reply, _ := m.From.MustDo("CLUSTER", "GETKEYSINSLOT", m.Slot, 1_000_000).([]any)
		for _, key := range reply {
			if key, ok := key.(string); ok {
				keys = append(keys, key)
			}
		}
	}
	for some := range slices.Chunk(keys, 1000) {
		args := []any{"MIGRATE", loopback, m.To.Port(), "", 0, adminTimeout.Milliseconds(), "KEYS"}
		for _, key := range some {
			args = append(args, key)
		}
		m.From.MustDo(args...)
	}
	return len(keys)
}

// Finish moves the keys that are left, makes the destination the owner, tells
// every node that is up, and waits until all agree.
func (m *Migration) Finish() {
	m.From.t.Helper()
	for m.MoveKeys() > 0 {
		// A client that was sent here by ASK cannot add to them, one that
		// updates a key which is still here can.
		continue
	}
	// The destination first: else the slot would for a moment be nobody's.
	owner := nodeID(m.To)
	m.To.MustDo("CLUSTER", "SETSLOT", m.Slot, "NODE", owner)
	m.From.MustDo("CLUSTER", "SETSLOT", m.Slot, "NODE", owner)
	for _, node := range m.cluster.nodes {
		if node == m.From || node == m.To {
			continue
		}
		// A replica and a node that is down hear of it from the others.
		_, _ = node.Do("CLUSTER", "SETSLOT", m.Slot, "NODE", owner)
	}
	m.cluster.WaitOK()
}

// Abort moves every key back and leaves the slot where it was.
func (m *Migration) Abort() {
	m.From.t.Helper()
	back := &Migration{cluster: m.cluster, Slot: m.Slot, From: m.To, To: m.From}
	m.From.MustDo("CLUSTER", "SETSLOT", m.Slot, "STABLE")
	for back.MoveKeys() > 0 {
		continue
	}
	m.To.MustDo("CLUSTER", "SETSLOT", m.Slot, "STABLE")
}
