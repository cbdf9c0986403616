package redistest

import (
	"context"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// linkBuffer is what is read of a connection at a time. A pipeline that
	// fits is seen as a whole before any of it is passed on.
	linkBuffer = 64 << 10
	// linkQueue is how many reads are kept on their way.
	linkQueue = 1024
)

// link is one connection of a client with the one to the server behind it.
//
// Each direction is a reader, which decides what becomes of a message and when
// it is due, and a writer, which waits for that time and does it. The writer
// is where a message is lost if it is: so a fault holds for everything that
// has not yet arrived.
type link struct {
	proxy  *Proxy
	client net.Conn
	server *net.TCPConn
	target string
	sink   bool // there is no server: all is lost

	ledger  ledger
	drops   atomic.Int64  // replies to drop that have not come yet
	up      chan []parcel // requests on their way
	down    chan []parcel // replies on their way
	lostUp  bool          // the request writer's: what follows is lost, too
	silence atomic.Bool   // what the server says is lost from now on

	clientGone atomic.Bool
	over       <-chan struct{} // closed when the link is cut
	end        func()          // closes over
	mu         sync.Mutex      // guards server until the link runs
}

// parcel is a message on its way.
type parcel struct {
	raw    []byte
	due    time.Time
	args   []string // of a request
	action Action
}

// run passes messages on until both connections are closed. ctx ends when the
// link is cut.
func (l *link) run(ctx context.Context) {
	defer l.cut()
	l.up, l.down = make(chan []parcel, linkQueue), make(chan []parcel, linkQueue)
	var work sync.WaitGroup
	defer work.Wait()
	if !l.sink {
		if !l.reach(ctx) {
			return // As if the client had not reached it either.
		}
		work.Go(l.readReplies)
		work.Go(l.writeReplies)
	}
	work.Go(l.readRequests)
	work.Go(l.writeRequests)
}

// reach connects to the server, unless the link is cut meanwhile.
func (l *link) reach(ctx context.Context) bool {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", l.target)
	if err != nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if ctx.Err() != nil {
		_ = conn.Close()
		return false
	}
	server, ok := conn.(*net.TCPConn)
	l.server = server
	return ok
}

// cut closes both connections at once. Cutting twice is cutting once.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end()
	l.closeClient()
	if l.server != nil {
		_ = l.server.Close()
	}
}

// closeClient hangs up on the client. What was sent to the server stays sent.
func (l *link) closeClient() {
	l.clientGone.Store(true)
	_ = l.client.Close()
}

// send hands parcels to a writer, unless the link is cut.
func (l *link) send(to chan<- []parcel, batch []parcel) bool {
	if len(batch) == 0 {
		return true
	}
	select {
	case to <- batch:
		return true
	case <-l.over:
		return false
	}
}

// hold waits until a parcel is due and the proxy is in none of the given
// modes, and returns the mode it is in. It returns false if the link is cut.
func (l *link) hold(due time.Time, modes ...mode) (mode, bool) {
	if wait := time.Until(due); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-l.over:
			return 0, false
		}
	}
	for {
		f := l.proxy.now()
		if !slices.Contains(modes, f.mode) {
			return f.mode, true
		}
		select {
		case <-f.changed:
		case <-l.over:
			return 0, false
		}
	}
}
