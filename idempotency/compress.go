package idempotency

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
)

// Compression says which results are compressed, and how. The zero value
// compresses none. Whatever it says, records that gzip compressed are read.
//
// Compression comes before [Encryption], and the length of an encrypted record
// shows how well its result compressed: leave it off where one result mixes a
// secret with text that an attacker chose.
type Compression struct {
	// Above is the size, in bytes, above which a result is compressed. One
	// that does not become smaller is kept as it is.
	// Default: 0, off.
	Above int

	// With compresses.
	// Default: gzip, the fastest level.
	With Compressor

	// Also lists compressors whose records are still read, besides With and
	// gzip.
	// Default: none.
	Also []Compressor
}

// Compressor compresses results. Its methods are safe for concurrent use.
type Compressor interface {
	// ID tells this compression from all others in a record, for as long as
	// there are records: from 128 to 255. Lower ones are Semel's.
	ID() byte
	// Compress appends the compressed src to dst.
	Compress(dst, src []byte) []byte
	// Decompress appends to dst what src holds. It fails, before it has
	// allocated more, if that is above limit bytes, which is the length of
	// what was compressed, as the record tells it.
	Decompress(dst, src []byte, limit int) ([]byte, error)
}

// Compressors that a record may name.
const (
	gzipID     = 1
	minOwnerID = 128 // the least ID that is not ours
)

// packer compresses and decompresses the data of results.
type packer struct {
	above int // 0: compress nothing
	with  Compressor
	known map[byte]Compressor
}

// newPacker checks c.
func newPacker(c Compression) (*packer, error) {
	if c.Above < 0 {
		return nil, fmt.Errorf("%w: Options.Compression.Above is %d, must be at least 0", ErrInvalid, c.Above)
	}
	builtIn := new(gzipCompressor)
	p := &packer{above: c.Above, with: c.With, known: map[byte]Compressor{gzipID: builtIn}}
	add := func(field string, own Compressor) error {
		if own == nil {
			return fmt.Errorf("%w: Options.Compression.%s is nil", ErrInvalid, field)
		}
		id := own.ID()
		if id < minOwnerID {
			return fmt.Errorf("%w: Options.Compression.%s has the ID %d, must be at least %d", ErrInvalid, field, id, minOwnerID)
		}
		if p.known[id] != nil {
			return fmt.Errorf("%w: Options.Compression.%s has the ID %d, which another has", ErrInvalid, field, id)
		}
		p.known[id] = own
		return nil
	}
	if c.With == nil {
		p.with = builtIn
	} else if err := add("With", c.With); err != nil {
		return nil, err
	}
	for i, own := range c.Also {
		if err := add(fmt.Sprintf("Also[%d]", i), own); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// pack returns data compressed and by whom, or nil if it is to be kept as it
// is.
func (p *packer) pack(data []byte) (packed []byte, compressor byte) {
	if p.above == 0 || len(data) <= p.above {
		return nil, 0
	}
	packed = p.with.Compress(nil, data)
	if len(packed) == 0 || len(packed) >= len(data) {
		return nil, 0
	}
	return packed, p.with.ID()
}

// unpack returns the data of size bytes that packed holds.
func (p *packer) unpack(compressor byte, packed []byte, size int) ([]byte, error) {
	c := p.known[compressor]
	if c == nil {
		return nil, noResult("compressed by the unknown compressor %d", compressor)
	}
	data, err := c.Decompress(nil, packed, size)
	if err != nil {
		return nil, noResult("decompressing: %w", err)
	}
	return data, nil
}

// gzipCompressor is gzip (RFC 1952) of one member, with nothing after it.
type gzipCompressor struct {
	writers sync.Pool // of *gzip.Writer: one takes most of a mebibyte
	readers sync.Pool // of *gzip.Reader
}

// maxDeflate is how many bytes deflate can make of one: 258 for two bits.
const maxDeflate = 1032

func (*gzipCompressor) ID() byte { return gzipID }

func (g *gzipCompressor) Compress(dst, src []byte) []byte {
	out := bytes.NewBuffer(dst)
	zw, ok := g.writers.Get().(*gzip.Writer)
	if ok {
		zw.Reset(out)
	} else {
		zw, _ = gzip.NewWriterLevel(out, gzip.BestSpeed) // errs on unknown levels only
	}
	defer g.writers.Put(zw)
	// Neither fails: a Buffer takes everything.
	_, _ = zw.Write(src)
	_ = zw.Close()
	return out.Bytes()
}

// Decompress fails unless src holds limit bytes exactly.
func (g *gzipCompressor) Decompress(dst, src []byte, limit int) ([]byte, error) {
	// Whoever can write to the store can claim any length. What src cannot
	// hold is not allocated for.
	if limit/maxDeflate > len(src) {
		return nil, fmt.Errorf("gzip: %d bytes cannot come of %d", limit, len(src))
	}
	in := bytes.NewReader(src)
	zr, ok := g.readers.Get().(*gzip.Reader)
	if !ok {
		zr = new(gzip.Reader)
	}
	defer g.readers.Put(zr)
	if err := zr.Reset(in); err != nil {
		return nil, err
	}
	zr.Multistream(false)

	start := len(dst)
	dst = slices.Grow(dst, limit)[:start+limit]
	if _, err := io.ReadFull(zr, dst[start:]); err != nil {
		return nil, err
	}
	// The checksum is compared when the end is read, not before.
	if _, err := io.ReadFull(zr, make([]byte, 1)); err == nil {
		return nil, fmt.Errorf("gzip: more than %d bytes", limit)
	} else if err != io.EOF {
		return nil, err
	}
	if in.Len() > 0 {
		return nil, errors.New("gzip: bytes after the end")
	}
	return dst, nil
}
