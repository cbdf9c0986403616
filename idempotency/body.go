package idempotency

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrResultUnavailable says that the key's run has completed, and that its
// result was not retained or cannot be decoded. It will not run again: whether
// it shall is an operator's decision (Forget).
var ErrResultUnavailable = errors.New("idempotency: completed, result not available")

// A record's body is what a run left behind, as the store keeps it. All numbers
// are of one byte, except size, which is an unsigned varint in its shortest
// form. Version 1:
//
//	plain      version content
//	encrypted  version flags id-length id nonce(12) sealed(content) tag(16)
//
//	content    head codec-length codec            size data
//	content    head codec-length codec compressor size compressed-data
//
// The low half of head is the Kind, and flagCompressed tells the second form
// from the first. flags takes head's place, and flagEncrypted in it tells the
// two forms of a body apart. size is the length of the data before it was
// compressed, so that nothing is unpacked beyond it. A result without codec and
// data takes four bytes; a body of no bytes is not a result, so that a store
// that loses a body does not turn it into one.
//
// A content has one encoding (compressed data apart, which is as its compressor
// makes it), and what is not in this form to the last byte and bit is refused:
// a reader that guesses would replay a result that nobody produced. A later
// format has another version; a reader that does not know it answers
// ErrResultUnavailable and never runs the key again.
const (
	bodyVersion = 1

	kindMask       = 0x0f
	flagCompressed = 0x10 // in head
	flagEncrypted  = 0x20 // in flags
	flagNoFence    = 0x40 // in flags: the fence is not authenticated
)

// Limits of the format.
const (
	// maxCodec is the longest name of a codec, in bytes.
	maxCodec = 255
	// maxData is the most data that a result can hold, in bytes, and the most
	// that is ever unpacked.
	maxData = 64 << 20
)

// noResult returns an error that matches ErrResultUnavailable and says why.
func noResult(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrResultUnavailable, fmt.Errorf(format, args...))
}

// appendContent appends the content that holds res to b.
func appendContent(b []byte, res Result, p *packer) ([]byte, error) {
	switch {
	case res.Kind > KindTombstone:
		return nil, fmt.Errorf("%w: Result.Kind is %d", ErrInvalid, res.Kind)
	case len(res.Codec) > maxCodec:
		return nil, fmt.Errorf("%w: Result.Codec has %d bytes, must have at most %d", ErrInvalid, len(res.Codec), maxCodec)
	case len(res.Data) > maxData:
		return nil, fmt.Errorf("%w: Result.Data has %d bytes, must have at most %d", ErrInvalid, len(res.Data), maxData)
	}
	head, data := byte(res.Kind), res.Data
	packed, compressor := p.pack(data)
	if packed != nil {
		head, data = head|flagCompressed, packed
	}
	b = append(b, head, byte(len(res.Codec)))
	b = append(b, res.Codec...)
	if packed != nil {
		b = append(b, compressor)
	}
	b = binary.AppendUvarint(b, uint64(len(res.Data)))
	return append(b, data...), nil
}

// parseContent reads what appendContent wrote. The result's data may lie in b.
func parseContent(b []byte, p *packer) (Result, error) {
	if len(b) < 2 {
		return Result{}, errTruncated()
	}
	head, codec := b[0], int(b[1])
	if head&^(kindMask|flagCompressed) != 0 || Kind(head&kindMask) > KindTombstone {
		return Result{}, noResult("unknown kind or flags %#02x", head)
	}
	b = b[2:]
	if len(b) < codec {
		return Result{}, errTruncated()
	}
	res := Result{Kind: Kind(head & kindMask), Codec: string(b[:codec])}
	b = b[codec:]

	var compressor byte
	if head&flagCompressed != 0 {
		if len(b) == 0 {
			return Result{}, errTruncated()
		}
		compressor, b = b[0], b[1:]
	}
	size, n := binary.Uvarint(b)
	if n <= 0 || n > 1 && b[n-1] == 0 { // cut off, or longer than it need be
		return Result{}, noResult("malformed length")
	}
	if size > maxData {
		return Result{}, noResult("a length of %d bytes, above %d", size, maxData)
	}
	b = b[n:]
	if head&flagCompressed != 0 {
		data, err := p.unpack(compressor, b, int(size))
		if err != nil {
			return Result{}, err
		}
		b = data
	}
	if uint64(len(b)) != size {
		return Result{}, noResult("%d bytes of data where %d were recorded", len(b), size)
	}
	if size > 0 {
		res.Data = b
	}
	return res, nil
}

// errTruncated says that a body ends before its time.
func errTruncated() error { return noResult("truncated") }
