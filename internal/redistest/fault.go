package redistest

import "time"

// Fate is what becomes of one request.
type Fate int

const (
	// Pass lets the request and its reply through.
	Pass Fate = iota
	// DropReply lets the request through, waits for its reply, drops that and
	// cuts the connection: the server has acted, the client cannot know. If
	// the replies to more requests of a pipeline are to be dropped, the
	// connection is cut after the last of them.
	DropReply
	// LoseReply is DropReply without the cut: the reply and all that the
	// server says after it on this connection are lost, and the client waits.
	LoseReply
	// CutBefore cuts the connection; the server never sees the request.
	CutBefore
	// CutAfter cuts the client's connection as soon as the request is sent to
	// the server, which acts on it a little later.
	CutAfter
	// Lose drops the request, all that follow it on this connection, and all
	// that the server still says. The connection stays open.
	Lose
)

// Action is what a [Proxy] does with one request. The zero value lets it
// through.
type Action struct {
	// Fate is what becomes of the request. Default: Pass.
	Fate Fate
	// Delay is how much later the request goes to the server, even if the
	// client has hung up by then. What the client sends after it on the same
	// connection waits behind it. Default: not at all.
	Delay time.Duration
	// ReplyDelay is the same for the reply. Default: not at all.
	ReplyDelay time.Duration
	// Copy keeps a copy of the request for [Proxy.SendCopies], whatever its
	// fate. Default: no copy.
	Copy bool
}

// mode is how a proxy treats its connections.
type mode int

const (
	passing   mode = iota
	stalling       // nothing moves, everything is kept
	blackHole      // everything is lost, both ways
	halfOpen       // everything the server says is lost
	cutting        // each request is sent and its connection cut
	refusing       // new connections are closed
	shutting       // the proxy ends
)

// faults are the faults that hold for all connections.
type faults struct {
	mode           mode
	request, reply time.Duration // delays
	changed        chan struct{} // closed when these faults are replaced
}

// Pass ends every fault that a method began. A connection that lost something
// stays dead, as a stream cannot lose its middle; [Proxy.CutAll] ends those.
// The hook of OnRequest stays.
func (p *Proxy) Pass() { p.set(faults{mode: passing}, 0) }

// DropReplies gives the next n requests, on whatever connections, the fate
// [DropReply]. Requests that set up a connection (HELLO, AUTH, SELECT, CLIENT,
// READONLY, READWRITE, COMMAND, CLUSTER) are passed and not counted.
func (p *Proxy) DropReplies(n int) { p.set(faults{mode: passing}, n) }

// CutAfterRequest gives every request the fate [CutAfter], except those that
// set up a connection, as in DropReplies.
func (p *Proxy) CutAfterRequest() { p.set(faults{mode: cutting}, 0) }

// Delay makes every request, and every message of a server, that much later.
// It changes neither order nor throughput.
func (p *Proxy) Delay(request, reply time.Duration) {
	p.set(faults{mode: passing, request: request, reply: reply}, 0)
}

// Stall keeps everything that comes in, both ways, until Pass: then it arrives,
// late, even if the client has hung up meanwhile. It is a network that is gone
// for a while.
func (p *Proxy) Stall() { p.set(faults{mode: stalling}, 0) }

// BlackHole accepts connections, reads what comes and loses it, both ways.
func (p *Proxy) BlackHole() { p.set(faults{mode: blackHole}, 0) }

// HalfOpen lets requests through and loses all that the server says.
func (p *Proxy) HalfOpen() { p.set(faults{mode: halfOpen}, 0) }

// Refuse cuts all connections and closes new ones as they come.
func (p *Proxy) Refuse() {
	p.set(faults{mode: refusing}, 0)
	p.CutAll()
}

// set replaces the faults of all connections.
func (p *Proxy) set(f faults, drops int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.faults.mode == shutting {
		return
	}
	f.changed = make(chan struct{})
	close(p.faults.changed)
	p.faults, p.drops = f, drops
}

// now returns the faults as they are.
func (p *Proxy) now() faults {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.faults
}

// setsUp reports whether a command only prepares a connection for others.
func setsUp(name string) bool {
	switch name {
	case "HELLO", "AUTH", "SELECT", "CLIENT", "READONLY", "READWRITE", "COMMAND", "CLUSTER":
		return true
	}
	return false
}
