package redistest

import (
	"bufio"
	"time"
)

// readReplies reads what the server says until it hangs up.
func (l *link) readReplies() {
	defer close(l.down)
	in := scanner{r: bufio.NewReaderSize(l.server, linkBuffer)}
	for {
		if _, err := in.r.Peek(1); err != nil {
			return
		}
		var batch []parcel
		for more := true; more; more = in.r.Buffered() > 0 {
			one, err := l.readReply(&in)
			if err != nil {
				l.send(l.down, batch)
				return
			}
			batch = append(batch, one)
		}
		if !l.send(l.down, batch) {
			return
		}
	}
}

// readReply reads one message of the server, or whatever there is of a stream.
func (l *link) readReply(in *scanner) (parcel, error) {
	var one parcel
	if l.ledger.streams() {
		one.raw = make([]byte, in.r.Buffered())
		if _, err := in.r.Read(one.raw); err != nil {
			return one, err
		}
	} else {
		value, raw, err := in.message()
		if err != nil {
			return one, err
		}
		one.raw = raw
		var last bool
		one.action, last = l.ledger.answered(value)
		if last && one.action.Fate == DropReply {
			l.drops.Add(-1)
		}
	}
	one.due = time.Now().Add(l.proxy.now().reply + one.action.ReplyDelay)
	return one, nil
}

// writeReplies passes replies on to the client, and after the last that the
// server has hung up.
func (l *link) writeReplies() {
	defer l.cut()
	for batch := range l.down {
		var out []byte
		for _, one := range batch {
			if len(out) > 0 && time.Now().Before(one.due) {
				l.answer(out)
				out = nil
			}
			mode, ok := l.hold(one.due, stalling)
			if !ok {
				return
			}
			lost := mode == halfOpen || mode == blackHole
			if lost || one.action.Fate == DropReply || one.action.Fate == LoseReply {
				l.silence.Store(true)
			}
			if one.action.Fate == DropReply && l.drops.Load() == 0 {
				l.answer(out)
				return
			}
			if !l.silence.Load() {
				out = append(out, one.raw...)
			}
		}
		l.answer(out)
	}
	if !l.clientGone.Load() { // It does not hear of it while nothing gets through.
		l.hold(time.Time{}, stalling, blackHole, halfOpen)
	}
}

// answer sends replies to the client, if it still listens.
func (l *link) answer(replies []byte) {
	if len(replies) > 0 && !l.clientGone.Load() {
		if _, err := l.client.Write(replies); err != nil {
			l.silence.Store(true)
		}
	}
}
