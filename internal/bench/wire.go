package bench

import (
	"bytes"
	"context"
	"crypto/tls"
	"maps"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// Wire counts what goes over the connections that are dialed through it. It
// sees every contender alike, whatever its client, and unlike the server's own
// counts it does not see what scripts do. Its methods are safe for concurrent
// use.
type Wire struct {
	mu    sync.Mutex
	names map[string]int
	trips int
}

// Traffic is what a Wire has seen.
type Traffic struct {
	// Commands is how often each command was sent, by its name in capitals.
	Commands map[string]int
	// Trips is how often a client wrote and then got an answer. Commands that
	// travel together make one trip.
	Trips int
}

// NewWire returns a Wire that has seen nothing.
func NewWire() *Wire {
	return &Wire{names: make(map[string]int)}
}

// Traffic returns what was seen so far.
func (w *Wire) Traffic() Traffic {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Traffic{maps.Clone(w.names), w.trips}
}

// Since returns what was seen after earlier.
func (t Traffic) Since(earlier Traffic) Traffic {
	later := Traffic{make(map[string]int), t.Trips - earlier.Trips}
	for name, n := range t.Commands {
		if n -= earlier.Commands[name]; n > 0 {
			later.Commands[name] = n
		}
	}
	return later
}

// Work returns how many commands were sent that are not about the connection
// itself.
func (t Traffic) Work() int {
	sum := 0
	for name, n := range t.Commands {
		switch name {
		case "HELLO", "CLIENT", "PING", "AUTH", "SELECT":
		default:
			sum += n
		}
	}
	return sum
}

// Requests returns how many commands asked for a lock or gave it back: all but
// those about the connection and its subscriptions.
func (t Traffic) Requests() int {
	return t.Work() - t.Commands["SUBSCRIBE"] - t.Commands["UNSUBSCRIBE"]
}

func (w *Wire) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	return w.tap((&net.Dialer{}).DialContext(ctx, network, addr))
}

func (w *Wire) dialRueidis(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
	return w.tap(d.DialContext(ctx, "tcp", addr))
}

func (w *Wire) tap(conn net.Conn, err error) (net.Conn, error) {
	if err != nil {
		return nil, err
	}
	return &tappedConn{Conn: conn, wire: w}, nil
}

func (w *Wire) sent(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.names[strings.ToUpper(name)]++
}

func (w *Wire) answered() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trips++
}

// tappedConn is a connection of a client. Clients write from one goroutine at
// a time.
type tappedConn struct {
	net.Conn
	wire     *Wire
	requests requestCounter
	asked    atomic.Bool
}

func (c *tappedConn) Write(p []byte) (int, error) {
	c.requests.feed(p, c.wire.sent)
	c.asked.Store(true)
	return c.Conn.Write(p)
}

func (c *tappedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && c.asked.Swap(false) {
		c.wire.answered()
	}
	return n, err
}

// requestCounter finds the names of the commands in a stream of requests:
//
//	*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n
//
// Writes may end anywhere.
type requestCounter struct {
	line  []byte // the header so far
	rest  int    // bytes of the argument to come, its line end included
	name  []byte // the first argument so far
	first bool   // this is the first argument
}

func (r *requestCounter) feed(p []byte, found func(name string)) {
	for len(p) > 0 {
		if r.rest > 0 {
			n := min(r.rest, len(p))
			if r.first {
				r.name = append(r.name, p[:n]...)
			}
			p, r.rest = p[n:], r.rest-n
			if r.rest == 0 && r.first {
				found(string(bytes.TrimRight(r.name, "\r\n")))
				r.first = false
			}
			continue
		}
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			r.line = append(r.line, p...)
			return
		}
		r.header(append(r.line, p[:end]...))
		p, r.line = p[end+1:], r.line[:0]
	}
}

// header takes a line that is not an argument: the start of a request, or the
// length of the argument that follows.
func (r *requestCounter) header(line []byte) {
	line = bytes.TrimRight(line, "\r")
	if len(line) == 0 {
		return
	}
	switch line[0] {
	case '*':
		r.first, r.name = true, r.name[:0]
	case '$':
		if n, err := strconv.Atoi(string(line[1:])); err == nil {
			r.rest = n + len("\r\n")
		}
	}
}
