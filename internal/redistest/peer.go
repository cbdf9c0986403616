package redistest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// peer is a node of a Cluster as another, or it itself, sees it.
type peer struct {
	port      int
	master    string // the id of its master, "-" for masters
	connected bool
	slots     []slotRange
}

type slotRange struct{ from, to int }

func (p peer) serves(slot int) bool {
	return slices.ContainsFunc(p.slots, func(r slotRange) bool {
		return r.from <= slot && slot <= r.to
	})
}

// view returns how one node sees its Cluster.
func view(node *Server) ([]peer, error) {
	reply, err := node.Do("CLUSTER", "NODES")
	if err != nil {
		return nil, err
	}
	text, _ := reply.(string)
	var peers []peer
	for line := range strings.Lines(text) {
		p, err := parsePeer(line)
		if err != nil {
			return nil, err
		}
		peers = append(peers, p)
	}
	return peers, nil
}

// parsePeer reads one line of CLUSTER NODES: id, address, flags, master, ping,
// pong, epoch, link, and the slots.
func parsePeer(line string) (peer, error) {
	words := strings.Fields(line)
	if len(words) < 8 {
		return peer{}, fmt.Errorf("redistest: CLUSTER NODES says %q", line)
	}
	addr, _, _ := strings.Cut(words[1], "@")
	port, err := strconv.Atoi(addr[strings.LastIndexByte(addr, ':')+1:])
	if err != nil {
		return peer{}, fmt.Errorf("redistest: CLUSTER NODES says %q: %w", line, err)
	}
	p := peer{
		port:      port,
		master:    words[3],
		connected: words[7] == "connected" && !strings.Contains(words[2], "handshake"),
	}
	for _, word := range words[8:] {
		if strings.HasPrefix(word, "[") {
			continue // A slot on its way, which is listed by itself as well.
		}
		first, last, ok := strings.Cut(word, "-")
		if !ok {
			last = first
		}
		from, err := strconv.Atoi(first)
		if err != nil {
			return peer{}, fmt.Errorf("redistest: CLUSTER NODES says %q: %w", line, err)
		}
		to, err := strconv.Atoi(last)
		if err != nil {
			return peer{}, fmt.Errorf("redistest: CLUSTER NODES says %q: %w", line, err)
		}
		p.slots = append(p.slots, slotRange{from, to})
	}
	return p, nil
}

// describe says who follows whom and serves what, the same whichever node was
// asked.
func describe(peers []peer) string {
	var lines []string
	for _, p := range peers {
		lines = append(lines, fmt.Sprint(p.port, p.master, p.slots))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
