package redisstore

import (
	"encoding/base64"
	"encoding/binary"
	"strconv"
	"strings"
	"time"

	"github.com/semel-go/semel/idempotency"
)

// The columns of a value; see the package's documentation. The scripts count
// from 1.
const (
	stateAt   = 1
	flagAt    = 2
	shapeAt   = 3
	nonceAt   = 4
	fenceAt   = 20
	attemptAt = 36
	headLen   = 46 // what all states have
	timeLen   = 6
	freeLen   = headLen + 16
	labelSize = 4

	format        = '1'
	withNothing   = '0'
	fingerprinted = 1
	labelled      = 2

	// maxFence keeps a fence exact in a script, whose numbers are doubles, also
	// twice as large. The clock in µs reaches it in 2112.
	maxFence = 1<<52 - 1
	maxLabel = 1<<32 - 1
	// maxMillis is the farthest instant that a value can hold, some 4,400 years
	// from 1970.
	maxMillis = 1<<47 - 1
)

// name returns the Redis key of a record, which is also its channel.
func (s *Store) name(key idempotency.Digest) string { return s.nameOf(key[:], "") }

// bindingName returns the Redis key of a binding.
func (s *Store) bindingName(id idempotency.Digest) string { return s.nameOf(id[:], ":b") }

func (s *Store) nameOf(key []byte, suffix string) string {
	b := make([]byte, 0, 80)
	b = append(b, s.prefix...)
	b = base64.RawURLEncoding.AppendEncode(b, key)
	b = append(b, suffix...)
	return string(b)
}

// shape tells what of a record's optional parts a value holds.
func shape(f *idempotency.Fingerprint, label []byte) byte {
	shape := byte(withNothing)
	if *f != (idempotency.Fingerprint{}) {
		shape += fingerprinted
	}
	if len(label) > 0 {
		shape += labelled
	}
	return shape
}

// encode returns the value of a completed record, which checkRecord has found
// to fit.
func encode(r *idempotency.Record) string {
	shape := shape(&r.Fingerprint, r.Label)
	var buf [headLen + 2*timeLen]byte
	head := append(buf[:0], format, 'd', '-', shape)
	head = append(head, r.Nonce[:]...)
	head = appendDigits(head, r.Fence, attemptAt-fenceAt)
	head = appendDigits(head, uint64(r.Attempt), headLen-attemptAt)
	head = appendTime(head, r.ClaimedAt)
	head = appendTime(head, r.CompletedAt)

	var b strings.Builder
	b.Grow(len(head) + len(r.Fingerprint) + labelSize + len(r.Label) + len(r.Body))
	b.Write(head)
	if (shape-withNothing)&fingerprinted != 0 {
		b.Write(r.Fingerprint[:])
	}
	if (shape-withNothing)&labelled != 0 {
		b.Write(binary.BigEndian.AppendUint32(head[:0], uint32(len(r.Label))))
		b.Write(r.Label)
	}
	b.Write(r.Body)
	return b.String()
}

// appendDigits appends n in decimal, padded with zeros to width.
func appendDigits(b []byte, n uint64, width int) []byte {
	var digits [20]byte
	text := strconv.AppendUint(digits[:0], n, 10)
	for range width - len(text) {
		b = append(b, '0')
	}
	return append(b, text...)
}

// storable reports whether a value can hold t.
func storable(t time.Time) bool {
	ms := t.UnixMilli()
	return ms >= -maxMillis && ms <= maxMillis
}

// appendTime appends t in ms; the upper two bytes repeat the sign.
func appendTime(b []byte, t time.Time) []byte {
	var full [8]byte
	binary.BigEndian.PutUint64(full[:], uint64(t.UnixMilli()))
	return append(b, full[8-timeLen:]...)
}

func readTime(text string) time.Time {
	var full [8]byte
	copy(full[:], text)
	ms := int64(binary.BigEndian.Uint64(full[:])) >> (8 * (8 - timeLen))
	return time.UnixMilli(ms).UTC()
}

// parsed is what a value says.
type parsed struct {
	state   idempotency.State
	waiters bool
	record  idempotency.Record
}

// parse reads a value, which may end before the body. It never takes one that
// it does not understand for one that it does.
func parse(value string) (p parsed, err error) {
	if len(value) < headLen || value[0] != format ||
		value[shapeAt] < withNothing || value[shapeAt] > withNothing+fingerprinted+labelled {
		return p, errForeign
	}
	fence, err := strconv.ParseUint(value[fenceAt:attemptAt], 10, 64)
	if err != nil {
		return p, errForeign
	}
	attempt, err := strconv.ParseUint(value[attemptAt:headLen], 10, 32)
	if err != nil {
		return p, errForeign
	}
	p.waiters = value[flagAt] == 'w'
	copy(p.record.Nonce[:], value[nonceAt:fenceAt])
	p.record.Fence, p.record.Attempt = fence, uint32(attempt)
	// A fence is made of the server's clock.
	p.record.ClaimedAt = time.UnixMicro(int64(fence)).Truncate(time.Millisecond).UTC()

	rest, shape := value[headLen:], value[shapeAt]-withNothing
	switch value[stateAt] {
	case 'c':
		p.state = idempotency.StateClaimed
	case 'u':
		p.state = idempotency.StateUnknown
	case 'f':
		p.state = idempotency.StateFree
		if len(value) != freeLen || shape != 0 {
			return p, errForeign
		}
		return p, nil
	case 'd':
		p.state = idempotency.StateCompleted
		if len(rest) < 2*timeLen {
			return p, errForeign
		}
		p.record.ClaimedAt = readTime(rest[:timeLen])
		p.record.CompletedAt = readTime(rest[timeLen : 2*timeLen])
		rest = rest[2*timeLen:]
	default:
		return p, errForeign
	}
	if shape&fingerprinted != 0 {
		if len(rest) < len(p.record.Fingerprint) {
			return p, errForeign
		}
		rest = rest[copy(p.record.Fingerprint[:], rest):]
	}
	if p.state == idempotency.StateCompleted {
		return p, p.parseCompleted(rest, shape)
	}
	if (shape&labelled != 0) != (len(rest) > 0) {
		return p, errForeign
	}
	p.record.Label = bytesOf(rest)
	return p, nil
}

// parseCompleted reads what follows a completed record's fingerprint.
func (p *parsed) parseCompleted(rest string, shape byte) error {
	if shape&labelled != 0 {
		if len(rest) < labelSize {
			return errForeign
		}
		n := uint64(binary.BigEndian.Uint32([]byte(rest[:labelSize])))
		rest = rest[labelSize:]
		if n == 0 || n > uint64(len(rest)) {
			return errForeign
		}
		p.record.Label, rest = bytesOf(rest[:n]), rest[n:]
	}
	p.record.Body = bytesOf(rest)
	return nil
}

// What PTTL says besides a time.
const (
	goneMS    = -2 // there is no such key
	foreverMS = -1 // it has no expiry
)

// remainingTime returns the time that PTTL tells. In its last millisecond a key
// has 0, which could be taken for unknown. Nothing of ours has no expiry: if
// somebody took it away, askers are to come again, but not without a pause.
func remainingTime(ms int64) time.Duration {
	if ms == foreverMS {
		return time.Second
	}
	return time.Duration(max(ms, 1)) * time.Millisecond
}

// bytesOf returns nil for "", so that what was not there is not there again.
func bytesOf(text string) []byte {
	if text == "" {
		return nil
	}
	return []byte(text)
}
