package watermillcqrs

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/ThreeDotsLabs/watermill/message"
)

// producedCodec is how the messages that a handler produced are recorded:
//
//	count { uuid pairs { key value } payload }
//
// Numbers are unsigned varints, and texts come after their length. The metadata
// is sorted by key. Not JSON, which would double a payload's size for its base64
// and change metadata that is not UTF-8.
type producedCodec struct{}

// Name names the format.
func (producedCodec) Name() string { return "watermill-messages-1" }

var (
	errNilMessage = errors.New("a produced message is nil")
	errMalformed  = errors.New("malformed messages")
)

// Encode encodes messages.
func (producedCodec) Encode(ms []*message.Message) ([]byte, error) {
	b := binary.AppendUvarint(nil, uint64(len(ms)))
	text := func(s string) {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	for _, m := range ms {
		if m == nil {
			return nil, errNilMessage
		}
		text(m.UUID)
		b = binary.AppendUvarint(b, uint64(len(m.Metadata)))
		for _, key := range slices.Sorted(maps.Keys(m.Metadata)) {
			text(key)
			text(m.Metadata[key])
		}
		text(string(m.Payload))
	}
	return b, nil
}

// Decode decodes what Encode made, and nothing else: a message that is not
// whole must not be published.
func (producedCodec) Decode(data []byte) ([]*message.Message, error) {
	r := reader{rest: data}
	var ms []*message.Message
	for range r.number() {
		uuid := r.text()
		metadata := message.Metadata{}
		for range r.number() {
			key := r.text()
			metadata[key] = r.text()
			if r.bad {
				return nil, errMalformed
			}
		}
		m := message.NewMessage(uuid, message.Payload(r.text()))
		m.Metadata = metadata
		ms = append(ms, m)
		if r.bad {
			return nil, errMalformed
		}
	}
	if r.bad || len(r.rest) > 0 {
		return nil, errMalformed
	}
	return ms, nil
}

// reader reads what Encode wrote. After an error it reads nothing.
type reader struct {
	rest []byte
	bad  bool
}

// number reads a number. None is larger than what follows it is long.
func (r *reader) number() int {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || v > uint64(len(r.rest)-n) {
		r.rest, r.bad = nil, true
		return 0
	}
	r.rest = r.rest[n:]
	return int(v)
}

// text reads a text.
func (r *reader) text() string {
	n := r.number()
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}
