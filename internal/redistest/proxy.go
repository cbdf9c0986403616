package redistest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// Proxy passes connections on to a Redis server and loses, delays, cuts or
// repeats what it is told to, for all connections or for single requests. It
// understands RESP2 and RESP3, pipelines, transactions, blocking commands and
// subscriptions, so it knows which reply answers which request.
//
// After SYNC, PSYNC or MONITOR a connection is a stream of bytes to which only
// the faults that the Proxy's methods set apply. CLIENT REPLY is not
// understood, nor is TLS.
//
// All methods are safe for concurrent use and take effect at once. The methods
// that begin a fault end the one before.
type Proxy struct {
	t        testing.TB
	listener net.Listener
	work     sync.WaitGroup // the accept loop and every link

	mu     sync.Mutex
	target string
	faults faults
	drops  int // DropReplies left
	hook   func(args []string) Action
	match  func(args []string) bool
	copies [][]byte
	counts map[string]int
	links  map[*link]struct{}
}

// NewProxy starts a proxy to the server at the address target. It ends with
// the test.
func NewProxy(tb testing.TB, target string) *Proxy {
	tb.Helper()
	listener, err := listen(0)
	if err != nil {
		tb.Fatalf("redistest: proxy: %v", err)
	}
	p := &Proxy{
		t:        tb,
		listener: listener,
		target:   target,
		faults:   faults{changed: make(chan struct{})},
		counts:   make(map[string]int),
		links:    make(map[*link]struct{}),
	}
	p.work.Go(p.accept)
	tb.Cleanup(p.close)
	return p
}

// Addr is where the proxy listens.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// SetTarget makes the proxy pass new connections on to another server.
func (p *Proxy) SetTarget(addr string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = addr
}

// OnRequest sets a hook that decides about each request, set-up requests of a
// client included; nil removes it. args is the request as the client sent it,
// its command in whatever case, and not to be changed.
//
// The hook is called in order for the requests of one connection and at the
// same time for those of others. While it does not return, the requests of its
// connection wait, those before it in a pipeline included; the test cannot end
// then. An action other than Pass has precedence over what
// DropReplies and CutAfterRequest say; delays add up.
func (p *Proxy) OnRequest(hook func(args []string) Action) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hook = hook
}

// Duplicate keeps a copy of every request that matches, as [Action.Copy] does;
// nil ends that. match is called as the hook of OnRequest is.
func (p *Proxy) Duplicate(match func(args []string) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.match = match
}

// SendCopies sends every copy kept so far to the server, in order and on a
// connection of its own that nothing was set up on, waits for the replies and
// returns them. An error reply is a [ReplyError] among them. The copies are
// forgotten.
func (p *Proxy) SendCopies() ([]any, error) {
	p.mu.Lock()
	target, copies := p.target, p.copies
	p.copies = nil
	p.mu.Unlock()
	var replies []any
	for _, raw := range copies {
		reply, err := sendRaw(target, raw)
		if err != nil {
			return replies, fmt.Errorf("redistest: late copy: %w", err)
		}
		replies = append(replies, reply)
	}
	return replies, nil
}

func sendRaw(target string, raw []byte) (any, error) {
	c, err := Dial(target)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	if err := c.SetDeadline(time.Now().Add(adminTimeout)); err != nil {
		return nil, err
	}
	if _, err := c.net.Write(raw); err != nil {
		return nil, err
	}
	reply, err := c.Receive()
	var failed ReplyError
	if errors.As(err, &failed) {
		return failed, nil
	}
	return reply, err
}

// Count is how many requests with this command, in upper case, came from
// clients, whatever became of them.
func (p *Proxy) Count(command string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts[command]
}

// Counts is Count for all commands that came.
func (p *Proxy) Counts() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.counts)
}

// ResetCounts forgets what was counted.
func (p *Proxy) ResetCounts() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.counts)
}

// Conns is how many connections of clients are open.
func (p *Proxy) Conns() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for l := range p.links {
		if !l.clientGone.Load() {
			n++
		}
	}
	return n
}

// CutAll cuts all present connections.
func (p *Proxy) CutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.cut()
	}
}

// accept takes connections until the proxy is closed.
func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.work.Go(func() { p.serve(client) })
	}
}

// serve passes one connection on until it ends.
func (p *Proxy) serve(client net.Conn) {
	ctx, end := context.WithCancel(context.Background())
	defer end()
	l := &link{proxy: p, client: client, over: ctx.Done(), end: end}
	if !p.add(l) {
		_ = client.Close()
		return
	}
	defer p.remove(l)
	l.run(ctx)
}

// add registers a connection, unless there are to be none.
func (p *Proxy) add(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.faults.mode == refusing || p.faults.mode == shutting {
		return false
	}
	l.target, l.sink = p.target, p.faults.mode == blackHole
	p.links[l] = struct{}{}
	return true
}

func (p *Proxy) remove(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

// decide counts a request and says what is to become of it.
func (p *Proxy) decide(args []string, raw []byte) Action {
	if len(args) == 0 {
		return Action{}
	}
	name := strings.ToUpper(args[0])
	p.mu.Lock()
	p.counts[name]++
	hook, match := p.hook, p.match
	p.mu.Unlock()

	var action Action
	if hook != nil {
		action = hook(args)
	}
	if match != nil && match(args) {
		action.Copy = true
	}

	p.mu.Lock()
	defer p.mu.Unlock()
	if action.Copy {
		p.copies = append(p.copies, raw)
	}
	if action.Fate == Pass && !setsUp(name) {
		switch {
		case p.drops > 0:
			p.drops--
			action.Fate = DropReply
		case p.faults.mode == cutting:
			action.Fate = CutAfter
		}
	}
	action.Delay += p.faults.request
	return action
}

// close ends the proxy with all its connections.
func (p *Proxy) close() {
	p.set(faults{mode: shutting}, 0)
	err := p.listener.Close()
	p.CutAll()
	p.work.Wait()
	if err != nil {
		p.t.Errorf("redistest: proxy: %v", err)
	}
}
