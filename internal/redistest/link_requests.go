package redistest

import (
	"bufio"
	"errors"
	"time"
)

// readRequests reads what the client sends until it hangs up.
func (l *link) readRequests() {
	defer close(l.up)
	in := scanner{r: bufio.NewReaderSize(l.client, linkBuffer)}
	for {
		var batch []parcel
		var err error
		for more := true; more; more = in.r.Buffered() > 0 {
			var one parcel
			if one.args, one.raw, err = in.request(); err != nil {
				break
			}
			one.action = l.proxy.decide(one.args, one.raw)
			one.due = time.Now().Add(one.action.Delay)
			if one.action.Fate == DropReply {
				l.drops.Add(1)
			}
			batch = append(batch, one)
		}
		if !l.send(l.up, batch) {
			return
		}
		if errors.Is(err, errSyntax) {
			l.cut()
		}
		if err != nil {
			l.clientGone.Store(true)
			return
		}
	}
}

// writeRequests passes requests on to the server, and after the last that the
// client has hung up.
func (l *link) writeRequests() {
	for batch := range l.up {
		var out []byte
		for _, one := range batch {
			if len(out) > 0 && time.Now().Before(one.due) {
				l.write(out)
				out = nil
			}
			mode, ok := l.hold(one.due, stalling)
			if !ok {
				return
			}
			if l.sink || mode == blackHole || one.action.Fate == Lose {
				l.lostUp = true
				l.silence.Store(true)
			}
			if l.lostUp {
				continue
			}
			if one.action.Fate == CutBefore {
				l.write(out)
				l.hangUp()
				return
			}
			l.ledger.sent(one.args, one.action)
			out = append(out, one.raw...)
			if one.action.Fate == CutAfter {
				l.write(out)
				l.hangUp()
				return
			}
		}
		l.write(out)
	}
	if l.sink {
		l.cut()
		return
	}
	// The server finishes what it was sent, hangs up too, and that ends the
	// link. It does not hear of it while nothing gets through.
	if _, ok := l.hold(time.Time{}, stalling, blackHole); !ok {
		return
	}
	if err := l.server.CloseWrite(); err != nil {
		l.cut()
	}
}

// hangUp cuts the client off and lets the server finish what it was sent.
func (l *link) hangUp() {
	l.silence.Store(true)
	l.closeClient()
	if err := l.server.CloseWrite(); err != nil {
		l.cut()
	}
}

// write sends requests to the server. A failure is for the reader of the
// replies to find: the server may have said something before it hung up.
func (l *link) write(requests []byte) {
	if len(requests) > 0 {
		_, _ = l.server.Write(requests)
	}
}
