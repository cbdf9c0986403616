package idempotency

import (
	"crypto/cipher"
	"encoding/binary"
	"errors"
)

// sealer makes bodies of results and results of bodies. It is safe for
// concurrent use, and holds no key in the clear.
type sealer struct {
	packer     *packer
	current    string                 // id of the key that seals; "": none
	keys       map[string]cipher.AEAD // by id; empty: nothing is encrypted
	allowPlain bool
}

// newSealer checks c and e.
//
// Error: ErrInvalid; it names every field that is wrong.
func newSealer(c Compression, e Encryption) (*sealer, error) {
	packer, errPacker := newPacker(c)
	keys, errKeys := e.aeads()
	if err := errors.Join(errPacker, errKeys); err != nil {
		return nil, err
	}
	return &sealer{packer: packer, current: e.Current, keys: keys, allowPlain: e.AllowPlain}, nil
}

// seal returns the body of the record r of key that holds res. Where it is
// encrypted, all that a Record has besides its body and its label is
// authenticated with it: r must be the record as it will be stored, its times
// to the millisecond. (The label is outside: it is for the operator's eyes, and
// whoever relies on it can compare its digest with the key.) The one exception
// is a Fence of 0, which no grant has: it stands for one that only the store
// will know, and leaves the fence out.
//
// Error: ErrInvalid if res is none that a body can hold. A Tombstone without
// data always is.
func (s *sealer) seal(key Digest, r Record, res Result) ([]byte, error) {
	if s.current == "" {
		room := 4 + binary.MaxVarintLen32 + len(res.Codec) + len(res.Data)
		return appendContent(append(make([]byte, 0, room), bodyVersion), res, s.packer)
	}
	content, err := appendContent(nil, res, s.packer)
	if err != nil {
		return nil, err
	}
	flags := byte(flagEncrypted)
	if r.Fence == 0 {
		flags |= flagNoFence
	}
	aead := s.keys[s.current]
	body := make([]byte, 0, 3+len(s.current)+len(content)+aead.Overhead())
	body = append(body, bodyVersion, flags, byte(len(s.current)))
	body = append(body, s.current...)
	return aead.Seal(body, nil, content, associated(body, key, r)), nil
}

// open returns the result that the body of r, the record of key, holds. It is
// the caller's own: it shares no memory with r.
//
// Error: ErrResultUnavailable, whatever is wrong.
func (s *sealer) open(key Digest, r Record) (Result, error) {
	body := r.Body
	if len(body) < 2 {
		return Result{}, errTruncated()
	}
	if body[0] != bodyVersion {
		return Result{}, noResult("unknown format version %d", body[0])
	}
	if body[1]&flagEncrypted == 0 {
		if len(s.keys) > 0 && !s.allowPlain {
			return Result{}, noResult("not encrypted, and Options.Encryption.AllowPlain is not set")
		}
		return s.openPlain(body[1:])
	}
	content, err := s.decrypt(key, r)
	if err != nil {
		return Result{}, err
	}
	return parseContent(content, s.packer)
}

// openPlain reads a content that is the store's memory.
func (s *sealer) openPlain(content []byte) (Result, error) {
	res, err := parseContent(content, s.packer)
	if err == nil && content[0]&flagCompressed == 0 {
		res.Data = append([]byte(nil), res.Data...)
	}
	return res, err
}

// decrypt returns the content of an encrypted body.
func (s *sealer) decrypt(key Digest, r Record) ([]byte, error) {
	body, flags := r.Body, r.Body[1]
	if flags&^(flagEncrypted|flagNoFence) != 0 {
		return nil, noResult("unknown flags %#02x", flags)
	}
	if len(body) < 3 || len(body) < 3+int(body[2]) {
		return nil, errTruncated()
	}
	head := 3 + int(body[2])
	id := string(body[3:head])
	aead := s.keys[id]
	if aead == nil {
		return nil, noResult("encrypted with the unknown key %q", id)
	}
	if flags&flagNoFence != 0 {
		r.Fence = 0
	}
	content, err := aead.Open(nil, nil, body[head:], associated(body[:head], key, r))
	if err != nil {
		return nil, noResult("key %q: %w", id, err)
	}
	return content, nil
}

// associated returns what is authenticated with a content: all that precedes it
// in the body, after it the key and the record's header, each of a fixed
// length. A body does not open under another key's digest or in another record.
func associated(head []byte, key Digest, r Record) []byte {
	b := make([]byte, 0, len(head)+len(key)+len(r.Nonce)+8+4+len(r.Fingerprint)+8+8)
	b = append(b, head...)
	b = append(b, key[:]...)
	b = append(b, r.Nonce[:]...)
	b = binary.BigEndian.AppendUint64(b, r.Fence)
	b = binary.BigEndian.AppendUint32(b, r.Attempt)
	b = append(b, r.Fingerprint[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(r.ClaimedAt.UnixMilli()))
	return binary.BigEndian.AppendUint64(b, uint64(r.CompletedAt.UnixMilli()))
}
