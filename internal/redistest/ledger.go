package redistest

import (
	"strings"
	"sync"
)

// ledger knows for one connection which requests are unanswered, and so which
// of them a message of the server answers.
type ledger struct {
	mu       sync.Mutex
	pending  []entry
	channels map[string]map[string]bool // by the kind of subscription
	stream   bool                       // no more requests and replies
}

// entry is an unanswered request.
type entry struct {
	name    string
	args    int
	action  Action
	answers int // confirmations to come; 0 if not yet known
}

// sent notes a request that goes to the server.
func (g *ledger) sent(args []string, action Action) {
	if len(args) == 0 {
		return // An empty line, which is not answered.
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.stream {
		g.pending = append(g.pending, entry{name: strings.ToLower(args[0]), args: len(args) - 1, action: action})
	}
}

// streams reports whether what the server says next is not replies but a
// stream of bytes, for good.
func (g *ledger) streams() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.stream && len(g.pending) > 0 {
		switch g.pending[0].name {
		case "sync", "psync", "monitor":
			g.stream, g.pending = true, nil
		}
	}
	return g.stream
}

// answered returns what is to be done with a message of the server, which is
// nothing if no request asked for it. last is true if it completes the answer.
func (g *ledger) answered(value any) (action Action, last bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch value := value.(type) {
	case Push:
		return g.told(value)
	case []any:
		if g.subscribed() && isTold(value) {
			return g.told(value)
		}
	}
	if len(g.pending) == 0 {
		return Action{}, false // Like "max number of clients reached".
	}
	head := g.pending[0]
	g.pending = g.pending[1:]
	if head.name == "reset" {
		clear(g.channels)
	}
	return head.action, true
}

// told handles a message about a subscription. Such a request is answered once
// for each of its channels, and messages may come in between.
func (g *ledger) told(message []any) (action Action, last bool) {
	if len(message) < 2 {
		return Action{}, false
	}
	what, _ := message[0].(string)
	kind, begin, ok := subscription(what)
	if !ok {
		return Action{}, false // A message to the channel, or other news.
	}
	mine := len(g.pending) > 0 && g.pending[0].name == what
	if mine && g.pending[0].answers == 0 {
		g.pending[0].answers = max(1, g.pending[0].args)
		if g.pending[0].args == 0 { // Unsubscribes from all there are.
			g.pending[0].answers = max(1, len(g.channels[kind]))
		}
	}
	if channel, ok := message[1].(string); ok {
		g.subscribe(kind, channel, begin)
	}
	if !mine {
		return Action{}, false // The server unsubscribes as a slot moves away.
	}
	head := &g.pending[0]
	action = head.action
	head.answers--
	if head.answers == 0 {
		g.pending = g.pending[1:]
		return action, true
	}
	return action, false
}

// subscribe notes that a subscription begins or ends.
func (g *ledger) subscribe(kind, channel string, begin bool) {
	if !begin {
		delete(g.channels[kind], channel)
		return
	}
	if g.channels == nil {
		g.channels = make(map[string]map[string]bool)
	}
	if g.channels[kind] == nil {
		g.channels[kind] = make(map[string]bool)
	}
	g.channels[kind][channel] = true
}

// subscribed reports whether an array may be about a subscription, as it may
// be with RESP2 only.
func (g *ledger) subscribed() bool {
	for _, channels := range g.channels {
		if len(channels) > 0 {
			return true
		}
	}
	if len(g.pending) == 0 {
		return false
	}
	_, _, ok := subscription(g.pending[0].name)
	return ok
}

// isTold reports whether an array is about a subscription.
func isTold(message []any) bool {
	if len(message) < 3 {
		return false
	}
	switch what, _ := message[0].(string); what {
	case "message", "pmessage", "smessage":
		return true
	default:
		_, _, ok := subscription(what)
		return ok
	}
}

// subscription takes a command that begins or ends subscriptions apart: into
// their kind, and whether it begins them.
func subscription(name string) (kind string, begin, ok bool) {
	switch name {
	case "subscribe", "psubscribe", "ssubscribe":
		return strings.TrimSuffix(name, "subscribe"), true, true
	case "unsubscribe", "punsubscribe", "sunsubscribe":
		return strings.TrimSuffix(name, "unsubscribe"), false, true
	}
	return "", false, false
}
