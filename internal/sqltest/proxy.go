package sqltest

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"
)

// Fate is what becomes of a piece that a client sends.
type Fate int

const (
	// Pass lets it through, and what is answered.
	Pass Fate = iota
	// CutBefore cuts the connection: the server never sees the piece.
	CutBefore
	// DropReply lets it through, waits for the first of the answer, drops that
	// and cuts the connection: the server has acted, the client cannot know.
	DropReply
	// HoldReply lets it through and keeps what the server says from then on
	// until [Proxy.Heal].
	HoldReply
)

// Proxy passes connections on to a server, and cuts, delays, holds or loses
// them as it is told. It knows nothing of the protocol: a piece is what a
// client has written at once, which drivers do once per round trip. All
// methods are safe for concurrent use.
type Proxy struct {
	t        testing.TB
	listener net.Listener
	target   string
	work     sync.WaitGroup // the accept loop and every link

	mu      sync.Mutex
	state   state
	hook    func(piece []byte) Fate
	links   map[*link]struct{}
	changed chan struct{} // closed when the state changes
}

// state is what holds for all connections.
type state struct {
	request, reply time.Duration // delays
	hold           bool          // nothing passes, either way
	holdReplies    bool          // nothing that the server says passes
	refuse         bool          // new connections are closed
}

// NewProxy starts a proxy to the server at the address target. It ends with
// the test.
func NewProxy(tb testing.TB, target string) *Proxy {
	tb.Helper()
	listener, err := listen(0)
	if err != nil {
		tb.Fatalf("sqltest: proxy: %v", err)
	}
	p := &Proxy{
		t: tb, listener: listener, target: target,
		links: make(map[*link]struct{}), changed: make(chan struct{}),
	}
	p.work.Go(p.accept)
	tb.Cleanup(p.close)
	return p
}

// Addr is where the proxy listens.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// OnRequest sets a hook that decides about each piece; nil removes it. It is
// called at the same time for several connections, and does not keep the piece.
//
//	proxy.OnRequest(func(piece []byte) sqltest.Fate {
//		if bytes.Contains(bytes.ToLower(piece), []byte("commit")) {
//			return sqltest.DropReply
//		}
//		return sqltest.Pass
//	})
func (p *Proxy) OnRequest(hook func(piece []byte) Fate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hook = hook
}

// Delay makes every piece, and everything the server says, that much later.
func (p *Proxy) Delay(request, reply time.Duration) {
	p.change(func(s *state) { s.request, s.reply = request, reply })
}

// Hold keeps everything, both ways, until Heal: then it arrives, late.
func (p *Proxy) Hold() { p.change(func(s *state) { s.hold = true }) }

// HoldReplies lets the server hear everything, and keeps what it says until
// Heal.
func (p *Proxy) HoldReplies() { p.change(func(s *state) { s.holdReplies = true }) }

// Refuse cuts all connections and closes new ones as they come, until Heal.
func (p *Proxy) Refuse() {
	p.change(func(s *state) { s.refuse = true })
	p.Cut()
}

// Heal ends what the methods before have begun, and HoldReply. The hook stays.
func (p *Proxy) Heal() {
	p.change(func(s *state) {
		*s = state{}
		for l := range p.links {
			l.hold.Store(false)
		}
	})
}

// Cut cuts all present connections. What is on its way may be lost.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.cut()
	}
}

// Conns is how many connections are open.
func (p *Proxy) Conns() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// change changes the state, and wakes all that wait for that.
func (p *Proxy) change(how func(*state)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	how(&p.state)
	close(p.changed)
	p.changed = make(chan struct{})
}

// now returns the state, and a channel that is closed when it changes.
func (p *Proxy) now() (state, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state, p.changed
}

// decide says what is to become of a piece.
func (p *Proxy) decide(piece []byte) Fate {
	p.mu.Lock()
	hook := p.hook
	p.mu.Unlock()
	if hook == nil {
		return Pass
	}
	return hook(piece)
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
	p.mu.Lock()
	refused := p.state.refuse
	if !refused {
		p.links[l] = struct{}{}
	}
	p.mu.Unlock()
	if refused {
		_ = client.Close()
		return
	}
	l.run(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

// close ends the proxy with all its connections.
func (p *Proxy) close() {
	p.change(func(s *state) { *s = state{refuse: true} })
	err := p.listener.Close()
	p.Cut()
	p.work.Wait()
	if err != nil {
		p.t.Errorf("sqltest: proxy: %v", err)
	}
}
