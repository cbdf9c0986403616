package integration_test

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// office hands out deliveries and keeps the journal of what became of them: it
// is the sender and the resource at once. A delivery that was not acknowledged
// goes out again.
//
//	NEXT            -> the id of a delivery, WAIT, or END
//	EFFECT id fence -> OK, or STALE if a later owner has been there
//	DOUBT id fence  -> OK: that owner lost its claim, or was not told that its
//	                   outcome is recorded
//	DONE v id, REPLAYED v id, UNRECORDED v id, FAILED id -> OK
type office struct {
	ln net.Listener
	wg sync.WaitGroup

	mu         sync.Mutex
	deliveries []string // to be handed out
	journal    map[string]*history
	conns      map[net.Conn]string // and the delivery that each has
	left       int                 // deliveries not acknowledged
	empty      chan struct{}       // closed when there are none
	hook       func(event string, conn net.Conn)
	faults     []string // what must not be
}

// history is what happened to one id.
type history struct {
	effects   []effect
	completed bool   // an owner was told that its outcome is recorded
	value     string // what it recorded
}

// effect is a committed effect.
type effect struct {
	fence uint64
	owner net.Conn
	doubt bool // its owner lost its claim or was not told of its completion
	dead  bool // its owner's process was killed before it said how it ended
}

func newOffice(t *testing.T, keys, duplicates int, shuffle func(n int, swap func(i, j int))) *office {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	o := &office{
		ln: ln, journal: map[string]*history{}, conns: map[net.Conn]string{},
		left: keys * duplicates, empty: make(chan struct{}),
	}
	for i := range keys {
		id := fmt.Sprint("evt_", i)
		o.journal[id] = &history{}
		for range duplicates {
			o.deliveries = append(o.deliveries, id)
		}
	}
	shuffle(len(o.deliveries), func(i, j int) {
		o.deliveries[i], o.deliveries[j] = o.deliveries[j], o.deliveries[i]
	})
	o.wg.Go(o.serve)
	t.Cleanup(func() {
		_ = ln.Close()
		o.mu.Lock()
		for c := range o.conns {
			_ = c.Close()
		}
		o.mu.Unlock()
		o.wg.Wait()
	})
	return o
}

func (o *office) serve() {
	for {
		c, err := o.ln.Accept()
		if err != nil {
			return
		}
		o.mu.Lock()
		o.conns[c] = ""
		o.mu.Unlock()
		o.wg.Go(func() { o.talk(c) })
	}
}

func (o *office) talk(c net.Conn) {
	lines := bufio.NewScanner(c)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		o.mu.Lock()
		answer := o.hear(c, words)
		hook := o.hook
		o.mu.Unlock()
		if hook != nil {
			hook(words[0], c)
		}
		if _, err := fmt.Fprintln(c, answer); err != nil {
			break
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if id := o.conns[c]; id != "" { // killed with it: it goes out again
		o.deliveries = append(o.deliveries, id)
		for i := range o.journal[id].effects {
			if e := &o.journal[id].effects[i]; e.owner == c {
				e.dead = true
			}
		}
	}
	delete(o.conns, c)
	_ = c.Close()
}

// hear is atomic.
func (o *office) hear(c net.Conn, words []string) string {
	switch words[0] {
	case "NEXT":
		if len(o.deliveries) == 0 {
			if o.left == 0 {
				return "END"
			}
			return "WAIT" // what others have may come back
		}
		id := o.deliveries[0]
		o.deliveries = o.deliveries[1:]
		o.conns[c] = id
		return id
	case "EFFECT":
		return o.effect(c, words[1], parseFence(words[2]))
	case "DOUBT":
		fence := parseFence(words[2])
		for i := range o.journal[words[1]].effects {
			if e := &o.journal[words[1]].effects[i]; e.fence == fence {
				e.doubt = true
			}
		}
		return "OK"
	case "FAILED":
		o.deliveries = append(o.deliveries, words[1])
	case "DONE", "REPLAYED", "UNRECORDED":
		o.acknowledge(words[0], words[1], words[2])
	}
	o.conns[c] = ""
	return "OK"
}

// effect commits one, unless a later owner of the id has been there.
func (o *office) effect(c net.Conn, id string, fence uint64) string {
	h := o.journal[id]
	if h.completed {
		o.faults = append(o.faults, fmt.Sprintf("%s: an effect of %d after a completion was acknowledged", id, fence))
	}
	if n := len(h.effects); n > 0 && fence <= h.effects[n-1].fence {
		return "STALE"
	}
	h.effects = append(h.effects, effect{fence: fence, owner: c})
	return "OK"
}

// acknowledge ends a delivery, whose value must be one that an effect had.
func (o *office) acknowledge(how, value, id string) {
	h := o.journal[id]
	known := false
	for _, e := range h.effects {
		known = known || value == fmt.Sprint(id, "/", e.fence)
	}
	if !known {
		o.faults = append(o.faults, fmt.Sprintf("%s: %s %s, which no effect had", id, how, value))
	}
	if how == "REPLAYED" && h.completed && value != h.value {
		o.faults = append(o.faults, fmt.Sprintf("%s: replayed %s, but %s was recorded", id, value, h.value))
	}
	if how != "UNRECORDED" && !h.completed {
		h.completed, h.value = true, value
	}
	o.left--
	if o.left == 0 {
		close(o.empty)
	}
}

// second returns the ids with more than one effect, and of these those for
// which the journal does not show why.
func (o *office) second() (twice, unexplained []string) {
	for id, h := range o.journal {
		for i := 1; i < len(h.effects); i++ {
			twice = append(twice, id)
			if e := h.effects[i-1]; !e.dead && !e.doubt {
				unexplained = append(unexplained, fmt.Sprintf("%s: %+v", id, h.effects))
			}
		}
	}
	return twice, unexplained
}

// parseFence reads what fmt wrote.
func parseFence(s string) (fence uint64) {
	_, _ = fmt.Sscan(s, &fence)
	return fence
}
