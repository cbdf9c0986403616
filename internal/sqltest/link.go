package sqltest

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// pieceSize is the most that is passed on at once.
const pieceSize = 64 << 10

// link is one connection of a client with the one to the server behind it.
type link struct {
	proxy  *Proxy
	client net.Conn

	drop atomic.Bool // the next that the server says is dropped, and the client cut
	hold atomic.Bool // what the server says is kept
	over <-chan struct{}
	end  func() // closes over

	mu     sync.Mutex
	server net.Conn // nil until it is reached
}

// run passes bytes on until both connections are closed. ctx ends when the
// link is cut.
func (l *link) run(ctx context.Context) {
	defer l.cut()
	var dialer net.Dialer
	server, err := dialer.DialContext(ctx, "tcp", l.proxy.target)
	if err != nil {
		return // As if the client had not reached it either.
	}
	l.mu.Lock()
	l.server = server
	l.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	var work sync.WaitGroup
	work.Go(l.requests)
	work.Go(l.replies)
	work.Wait()
}

// requests passes on what the client sends.
func (l *link) requests() {
	defer l.cut()
	buffer := make([]byte, pieceSize)
	for {
		n, err := l.client.Read(buffer)
		if n > 0 {
			piece := buffer[:n]
			fate := l.proxy.decide(piece)
			if fate == CutBefore || !l.wait(func(s state) (bool, time.Duration) { return s.hold, s.request }) {
				return
			}
			switch fate {
			case DropReply:
				l.drop.Store(true)
			case HoldReply:
				l.hold.Store(true)
			}
			if _, err := l.server.Write(piece); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// replies passes on what the server says.
func (l *link) replies() {
	defer l.cut()
	buffer := make([]byte, pieceSize)
	for {
		n, err := l.server.Read(buffer)
		if n > 0 {
			if l.drop.Load() {
				return
			}
			if !l.wait(func(s state) (bool, time.Duration) { return s.hold || s.holdReplies || l.hold.Load(), s.reply }) {
				return
			}
			if _, err := l.client.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// wait waits for the delay that a state asks for, and while it asks to hold. It
// returns false if the link is cut.
func (l *link) wait(ask func(state) (hold bool, delay time.Duration)) bool {
	now, _ := l.proxy.now()
	if _, delay := ask(now); delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-l.over:
			return false
		}
	}
	for {
		now, changed := l.proxy.now()
		if hold, _ := ask(now); !hold {
			return true
		}
		select {
		case <-changed:
		case <-l.over:
			return false
		}
	}
}

// cut closes both connections. Cutting twice is cutting once.
func (l *link) cut() {
	l.end()
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.client.Close()
	if l.server != nil {
		_ = l.server.Close()
	}
}
