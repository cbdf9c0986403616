package response

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"slices"
	"strings"
)

// Recorded is an answer as it was recorded.
type Recorded struct {
	// Status is the final status; of a hijacked connection that had none, 101.
	Status int
	// Changes is what the handler did to the header that was prepared for it,
	// without what is never recorded.
	Changes []Change
	// Trailers is what it sent behind the body. The names of those that it did
	// not announce begin with http.TrailerPrefix. Remove takes what was a header
	// out of what follows the body.
	Trailers []Change
	// Body is the body. It is nil if not Whole.
	Body []byte
	// Whole says that the answer can be replayed. If not, this is a tombstone,
	// and Encode keeps its Status and Location alone.
	Whole bool
}

// ErrDamaged is Decode's answer to what Encode did not make.
var ErrDamaged = errors.New("response: damaged record")

// Overhead is the most that an encoded Recorded is longer than its body, in
// bytes. An answer with larger headers leaves a tombstone.
const Overhead = maxHead + 64

// maxHead is how much header is recorded, in bytes as size counts. Servers and
// proxies accept less.
const maxHead = 64 << 10

// The encoding is the body, a head, and a foot. The body comes first so that the
// rest can be put behind it where it was recorded.
//
//	head  status, flags, changes, trailers; numbers are uvarints
//	foot  length of the head (4 bytes, big-endian)
//	      CRC-32C of everything before it (4 bytes)
//	      version
const (
	version   = 1
	footSize  = 4 + 4 + 1
	flagWhole = 1
)

// Header returns what the handler set or added, as a map of its own.
func (r Recorded) Header() http.Header {
	h := make(http.Header, len(r.Changes))
	apply(h, r.Changes)
	return h
}

// Get returns the first value that the handler set under name, which is
// case-insensitive, or "".
func (r Recorded) Get(name string) string {
	for _, c := range r.Changes {
		if len(c.Values) > 0 && strings.EqualFold(c.Name, name) {
			return c.Values[0]
		}
	}
	return ""
}

// size returns what the headers and trailers take in the encoding at most, in
// bytes.
func (r Recorded) size() int {
	total := 0
	for _, list := range [][]Change{r.Changes, r.Trailers} {
		for _, c := range list {
			total += 1 + binary.MaxVarintLen32 + len(c.Name) + binary.MaxVarintLen32
			for _, v := range c.Values {
				total += binary.MaxVarintLen32 + len(v)
			}
		}
	}
	return total
}

// Encode returns r in bytes. It writes behind Body, into the room that a Recorder
// left there, so it is called once.
func (r Recorded) Encode() []byte {
	flags := uint64(flagWhole)
	if !r.Whole {
		r = Recorded{Status: r.Status, Changes: location(r.Changes)}
		flags = 0
	}
	b := slices.Grow(r.Body, r.size()+64)
	b = binary.AppendUvarint(b, uint64(max(r.Status, 0)))
	b = binary.AppendUvarint(b, flags)
	b = appendChanges(b, r.Changes)
	b = appendChanges(b, r.Trailers)
	b = binary.BigEndian.AppendUint32(b, uint32(len(b)-len(r.Body)))
	b = binary.BigEndian.AppendUint32(b, checksum(b))
	return append(b, version)
}

// location returns what a tombstone keeps of changes.
func location(changes []Change) []Change {
	for _, c := range changes {
		r := Recorded{Changes: []Change{c}}
		if c.How == Set && strings.EqualFold(c.Name, "Location") && r.size() <= maxHead {
			return r.Changes
		}
	}
	return nil
}

func appendChanges(b []byte, changes []Change) []byte {
	b = binary.AppendUvarint(b, uint64(len(changes)))
	for _, c := range changes {
		b = append(b, byte(c.How))
		b = appendString(b, c.Name)
		b = binary.AppendUvarint(b, uint64(len(c.Values)))
		for _, v := range c.Values {
			b = appendString(b, v)
		}
	}
	return b
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// Decode returns what Encode made into b. Its Body is part of b. Error:
// ErrDamaged, also of a version that it does not know.
func Decode(b []byte) (Recorded, error) {
	if len(b) < footSize {
		return Recorded{}, fmt.Errorf("too short: %w", ErrDamaged)
	}
	data, foot := b[:len(b)-footSize], b[len(b)-footSize:]
	size := binary.BigEndian.Uint32(foot)
	switch {
	case foot[8] != version:
		return Recorded{}, fmt.Errorf("version %d: %w", foot[8], ErrDamaged)
	case checksum(b[:len(b)-5]) != binary.BigEndian.Uint32(foot[4:]):
		return Recorded{}, fmt.Errorf("checksum: %w", ErrDamaged)
	case int64(size) > int64(len(data)) || size > Overhead:
		return Recorded{}, fmt.Errorf("head of %d bytes: %w", size, ErrDamaged)
	}
	body, head := data[:len(data)-int(size)], data[len(data)-int(size):]

	in := reader{rest: string(head)}
	status, flags := in.number(), in.number()
	r := Recorded{Status: int(status), Changes: in.changes(), Trailers: in.changes(), Whole: flags == flagWhole}
	switch {
	case in.failed || in.rest != "":
		return Recorded{}, fmt.Errorf("head: %w", ErrDamaged)
	case status < 100 || status > 999 || flags > flagWhole || !r.Whole && len(body) > 0:
		return Recorded{}, fmt.Errorf("status %d, flags %d, body of %d bytes: %w", status, flags, len(body), ErrDamaged)
	}
	if r.Whole {
		r.Body = body[:len(body):len(body)]
	}
	return r, nil
}

// reader reads a head. All that it returns is part of it: nothing is allocated
// that the head does not hold.
type reader struct {
	rest   string
	failed bool
}

func (in *reader) number() uint64 {
	var v uint64
	for i := range min(len(in.rest), binary.MaxVarintLen32) {
		c := in.rest[i]
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			in.rest = in.rest[i+1:]
			return v
		}
	}
	in.failed, in.rest = true, ""
	return 0
}

func (in *reader) text() string {
	n := in.number()
	if n > uint64(len(in.rest)) {
		in.failed, in.rest = true, ""
		return ""
	}
	s := in.rest[:n]
	in.rest = in.rest[n:]
	return s
}

func (in *reader) changes() []Change {
	var changes []Change
	for n := in.number(); n > 0 && !in.failed; n-- {
		how := in.number()
		c := Change{How: How(min(how, uint64(Remove))), Name: in.text()}
		for n := in.number(); n > 0 && !in.failed; n-- {
			c.Values = append(c.Values, in.text())
		}
		in.failed = in.failed || how > uint64(Remove) || c.How == Remove && len(c.Values) > 0
		changes = append(changes, c)
	}
	return changes
}
